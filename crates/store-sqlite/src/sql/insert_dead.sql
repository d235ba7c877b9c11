INSERT INTO dead_letters (job, generation, reason, code, message, attempts, fingerprint, state, at, previous)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'open', ?8, (SELECT max(seq) FROM dead_letters WHERE job = ?1))
RETURNING seq
