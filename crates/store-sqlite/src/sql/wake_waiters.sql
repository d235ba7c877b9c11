UPDATE jobs SET awaits_batch = NULL, due_at = ?2 WHERE awaits_batch = ?1 AND awaits_batch IS NOT NULL
