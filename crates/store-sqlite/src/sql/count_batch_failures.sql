INSERT INTO batch_failures (batch_id, minute, code, jobs) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (batch_id, minute, code) DO UPDATE SET jobs = jobs + excluded.jobs
