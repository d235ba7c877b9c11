UPDATE jobs SET due_at = ?2 WHERE id = ?1 AND state = 'queued' AND awaits_batch IS NULL
