SELECT id, workload, owner, label, state, sealed, total, ok, failed, hard, cancelled, end_rule, last_failure_code,
       last_failure_message, last_failure_at, dead_offset, created_at, updated_at, finished_at, about, bytes
FROM batches WHERE id = ?1
