SELECT id, state, sealed, total, ok, failed, hard, cancelled, end_rule, keep_ms, redrive.now_ms()
FROM redrive.batches WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE
