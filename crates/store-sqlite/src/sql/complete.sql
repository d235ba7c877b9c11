UPDATE jobs
SET state = 'complete', result = ?2, finished_at = ?3, purge_at = ?4, leased_by = NULL, leased_at = NULL,
    lease_expires_at = NULL, probe = 0
WHERE id = ?1
