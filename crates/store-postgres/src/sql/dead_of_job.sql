SELECT d.seq, d.job, d.generation, l.workload, coalesce(j.owner, b.owner) AS owner, d.reason, d.code, d.message, d.attempts,
       d.fingerprint, d.state, d.at, d.closed_at, d.replay_id, d.previous
FROM redrive.dead_letters d JOIN redrive.jobs j ON j.id = d.job JOIN redrive.lanes l ON l.id = j.lane
LEFT JOIN redrive.batches b ON b.id = j.batch_id
WHERE d.job = $1 ORDER BY d.seq
