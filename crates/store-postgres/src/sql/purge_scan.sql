SELECT j.id, j.lane, j.state,
       j.state IN ('complete', 'failed', 'cancelled')
           AND coalesce(CASE WHEN b.id IS NULL THEN j.purge_at ELSE b.purge_at END <= redrive.now_ms(), false)
FROM (SELECT * FROM redrive.jobs q WHERE $1::uuid IS NULL OR q.id > $1 ORDER BY q.id LIMIT $2) AS j
LEFT JOIN redrive.batches b ON b.id = j.batch_id
ORDER BY j.id
