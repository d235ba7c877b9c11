UPDATE jobs
SET state = 'queued', lane = ?2, due_at = coalesce(?3, due_at), attempt = ?4, crashes = crashes + ?5, releases = releases + ?6, spent = ?7,
    awaits_batch = ?8, leased_by = NULL, leased_at = NULL, lease_expires_at = NULL, probe = 0
WHERE id = ?1
