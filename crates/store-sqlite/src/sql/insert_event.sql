INSERT INTO events (seq, job, kind, at, started_at, generation, attempt, target_status, code)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
