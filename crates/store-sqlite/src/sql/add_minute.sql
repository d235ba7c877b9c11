INSERT INTO minutes (minute, workload, kind, code, took_ms, jobs) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (minute, workload, kind, code, took_ms) DO UPDATE SET jobs = jobs + excluded.jobs
