SELECT id, workload, owner, label, state, sealed, total, ok, failed, hard, cancelled, end_rule, last_failure_code,
       last_failure_message, last_failure_at, dead_offset, created_at, updated_at, finished_at, about, bytes
FROM batches
WHERE owner = ?5 AND workload = ?1 AND (?2 IS NULL OR (created_at, id) < (?2, ?3)) AND (?6 = 0 OR state = 'processing')
ORDER BY created_at DESC, id DESC LIMIT ?4
