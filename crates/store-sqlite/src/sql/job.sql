SELECT j.id, l.workload, j.owner, p.label, j.state, l.targets, l.priority, l.alone, j.due_at, j.lease_token, iif(j.state = 'processing', j.leased_by, NULL),
       j.lease_expires_at, j.attempt, j.max_attempts, j.generation, j.crashes, j.releases, j.batch_id, j.awaits_batch,
       j.replay_id, j.failure_code, j.failure_message, j.result, j.created_at, j.queued_at, j.started_at, j.finished_at,
       j.expired_at, j.purge_at,
       EXISTS (SELECT 1 FROM lane_targets t JOIN breakers b ON b.target = t.target
               WHERE t.lane = j.lane AND b.blocked_until > ?1) AS held, p.progress
FROM jobs j JOIN lanes l ON l.id = j.lane LEFT JOIN payloads p ON p.job = j.id
WHERE j.id = ?2
