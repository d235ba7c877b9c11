UPDATE jobs
SET state = 'failed', failure_code = ?2, failure_message = ?3, finished_at = ?4, purge_at = ?5, crashes = crashes + ?6,
    leased_by = NULL, leased_at = NULL, lease_expires_at = NULL, probe = 0, awaits_batch = NULL
WHERE id = ?1
