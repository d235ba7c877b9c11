SELECT state, sealed, total, ok, failed, hard, cancelled, end_rule, keep_ms FROM batches WHERE id = ?1
