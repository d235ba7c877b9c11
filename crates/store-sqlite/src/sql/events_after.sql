SELECT e.seq, e.kind, e.at, e.job, e.batch_id, coalesce(l.workload, b.workload), coalesce(j.owner, b.owner), e.generation,
       e.attempt, e.started_at, e.target_status, e.code, e.topic, e.payload
FROM events e
LEFT JOIN jobs j ON j.id = e.job
LEFT JOIN lanes l ON l.id = j.lane
LEFT JOIN batches b ON b.id = e.batch_id
WHERE e.seq > ?1 ORDER BY e.seq LIMIT ?2
