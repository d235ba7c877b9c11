SELECT e.seq, e.kind, e.at, e.job, e.batch_id, coalesce(l.workload, b.workload), coalesce(j.owner, b.owner), e.generation,
       e.attempt, e.started_at, e.target_status, e.code, e.topic, e.payload
FROM redrive.events e
LEFT JOIN redrive.jobs j ON j.id = e.job
LEFT JOIN redrive.lanes l ON l.id = j.lane
LEFT JOIN redrive.batches b ON b.id = e.batch_id
WHERE e.seq > $1 AND e.seq <= $2 ORDER BY e.seq LIMIT $3
