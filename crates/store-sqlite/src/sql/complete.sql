UPDATE jobs
SET state = 'complete', result = ?2, finished_at = ?3, purge_at = ?4, rule = ?5, policy = ?6, complete_event = ?7,
    lease_expires_at = NULL, probe = 0
WHERE id = ?1
