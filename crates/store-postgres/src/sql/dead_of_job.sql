SELECT d.seq, d.job, d.generation, l.workload, j.owner, d.reason, d.code, d.message, d.attempts, d.fingerprint, d.state, d.at,
       d.closed_at, d.replay_id, d.previous
FROM redrive.dead_letters d JOIN redrive.jobs j ON j.id = d.job JOIN redrive.lanes l ON l.id = j.lane
WHERE d.job = $1 ORDER BY d.seq
