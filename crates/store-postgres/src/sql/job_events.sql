-- The first and the complete event by their places, the others by the index.
WITH own AS MATERIALIZED (
    SELECT e.seq FROM redrive.events e
    WHERE e.job = $1 AND e.job IS NOT NULL AND e.kind <> 'complete'
      AND (e.kind <> 'queued' OR e.generation > 1 OR e.started_at IS NOT NULL)
    UNION ALL
    SELECT queued_event FROM redrive.jobs WHERE id = $1
    UNION ALL
    SELECT complete_event FROM redrive.jobs WHERE id = $1
)
SELECT e.seq, e.kind, e.at, e.job, e.batch_id, l.workload, j.owner, e.generation, e.attempt, e.started_at, e.target_status, e.code,
       e.topic, e.payload
FROM own JOIN redrive.events e ON e.seq = own.seq JOIN redrive.jobs j ON j.id = e.job
JOIN redrive.lanes l ON l.id = j.lane
ORDER BY e.seq
