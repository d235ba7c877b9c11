INSERT INTO redrive.batches (id, workload, owner, label, state, end_rule, keep_ms, created_at, updated_at, about)
SELECT $1, $2, $3, $4, 'processing', $5, $6, now, now, $7 FROM redrive.now_ms() AS now
ON CONFLICT (id) DO NOTHING
