INSERT INTO batches (id, workload, owner, label, state, end_rule, keep_ms, created_at, updated_at, about)
VALUES (?1, ?2, ?3, ?4, 'processing', ?5, ?6, ?7, ?7, ?8)
ON CONFLICT (id) DO NOTHING
