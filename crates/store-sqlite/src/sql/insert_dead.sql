-- The offset is the number of the event that tells the end, written just before: the newest event always stays, so it
-- grows for ever, also when the newest letter was purged.
INSERT INTO dead_letters (seq, job, generation, reason, code, message, attempts, fingerprint, state, at, previous)
VALUES ((SELECT max(seq) FROM events), ?1, ?2, ?3, ?4, ?5, ?6, ?7, 'open', ?8, (SELECT max(seq) FROM dead_letters WHERE job = ?1))
RETURNING seq
