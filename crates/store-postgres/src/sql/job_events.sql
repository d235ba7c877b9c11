SELECT e.seq, e.kind, e.at, e.job, e.batch_id, l.workload, j.owner, e.generation, e.attempt, e.started_at, e.target_status, e.code,
       e.topic, e.payload
FROM redrive.events e LEFT JOIN redrive.jobs j ON j.id = e.job LEFT JOIN redrive.lanes l ON l.id = j.lane
WHERE e.job = $1 AND e.job IS NOT NULL ORDER BY e.seq
