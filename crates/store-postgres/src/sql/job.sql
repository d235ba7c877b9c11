SELECT j.id, l.workload, j.owner, p.label, j.state, l.targets, l.priority, l.alone, j.due_at, j.lease_token,
       CASE WHEN j.state = 'processing' THEN j.leased_by END AS leased_by,
       j.lease_expires_at, j.attempt, j.max_attempts, j.generation, j.crashes, j.releases, j.batch_id, j.awaits_batch, j.replay_id,
       j.failure_code, j.failure_message, j.result, j.created_at, j.queued_at, j.started_at, j.finished_at, j.expired_at,
       j.purge_at,
       EXISTS (SELECT 1 FROM redrive.lane_targets t JOIN redrive.breakers b ON b.target = t.target
               WHERE t.lane = j.lane AND b.blocked_until > clock.now) AS held,
       clock.now, p.progress
FROM (SELECT redrive.now_ms() AS now) AS clock, redrive.jobs j JOIN redrive.lanes l ON l.id = j.lane
LEFT JOIN redrive.payloads p ON p.job = j.id
WHERE j.id = $1
