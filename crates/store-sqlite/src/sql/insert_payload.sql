INSERT INTO payloads (job, label, input) VALUES (?1, ?2, ?3)
