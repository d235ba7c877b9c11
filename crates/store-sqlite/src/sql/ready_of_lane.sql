SELECT id, due_at FROM jobs INDEXED BY jobs_ready
WHERE state = 'queued' AND lane = ?1 AND due_at <= ?2
ORDER BY due_at, id LIMIT ?3
