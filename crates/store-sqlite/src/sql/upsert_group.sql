INSERT INTO failure_groups (fingerprint, workload, code, target, message, sample, state, first_seen, last_seen, failures, open)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'new', ?7, ?7, ?8, ?9)
ON CONFLICT (fingerprint) DO UPDATE
SET message = excluded.message, sample = excluded.sample, last_seen = excluded.last_seen, failures = failures + excluded.failures,
    open = open + excluded.open, state = iif(state = 'resolved', 'regressed', state)
