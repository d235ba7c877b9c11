-- Locks the jobs of an act in a fixed order, so that two acts cannot wait for each other.
SELECT j.id, j.lane, j.state, j.lease_token, j.leased_by, j.leased_at, j.attempt, j.generation, j.batch_id, j.failure_code,
       j.dedupe, j.expired_at, j.awaits_batch, l.workload, redrive.now_ms(),
       EXISTS (SELECT 1 FROM redrive.dead_letters d WHERE d.job = j.id), j.finished_at
FROM redrive.jobs j JOIN redrive.lanes l ON l.id = j.lane
WHERE j.id = ANY ($1::uuid[]) ORDER BY j.id FOR UPDATE OF j
