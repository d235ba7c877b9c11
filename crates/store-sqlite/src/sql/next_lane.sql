SELECT lane FROM jobs INDEXED BY jobs_ready WHERE state = 'queued' AND lane > ?1 ORDER BY lane LIMIT 1
