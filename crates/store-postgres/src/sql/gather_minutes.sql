-- The steps are those of `STEPS_MS`; the conformance suite compares them. A row of an attempt that went back to the queue is no arrival.
SELECT e.at / 60000 * 60000, l.workload, e.kind, coalesce(e.code, ''),
       CASE
           WHEN e.kind <> 'complete' OR e.started_at IS NULL THEN 0
           WHEN e.at - e.started_at <= 1 THEN 1 WHEN e.at - e.started_at <= 2 THEN 2
           WHEN e.at - e.started_at <= 5 THEN 5 WHEN e.at - e.started_at <= 10 THEN 10
           WHEN e.at - e.started_at <= 20 THEN 20 WHEN e.at - e.started_at <= 35 THEN 35
           WHEN e.at - e.started_at <= 50 THEN 50 WHEN e.at - e.started_at <= 75 THEN 75
           WHEN e.at - e.started_at <= 100 THEN 100 WHEN e.at - e.started_at <= 150 THEN 150
           WHEN e.at - e.started_at <= 200 THEN 200 WHEN e.at - e.started_at <= 350 THEN 350
           WHEN e.at - e.started_at <= 500 THEN 500 WHEN e.at - e.started_at <= 750 THEN 750
           WHEN e.at - e.started_at <= 1000 THEN 1000 WHEN e.at - e.started_at <= 1500 THEN 1500
           WHEN e.at - e.started_at <= 2000 THEN 2000 WHEN e.at - e.started_at <= 3500 THEN 3500
           WHEN e.at - e.started_at <= 5000 THEN 5000 WHEN e.at - e.started_at <= 7500 THEN 7500
           WHEN e.at - e.started_at <= 10000 THEN 10000 WHEN e.at - e.started_at <= 20000 THEN 20000
           WHEN e.at - e.started_at <= 30000 THEN 30000 WHEN e.at - e.started_at <= 60000 THEN 60000
           WHEN e.at - e.started_at <= 120000 THEN 120000 WHEN e.at - e.started_at <= 300000 THEN 300000
           WHEN e.at - e.started_at <= 900000 THEN 900000
           ELSE 86400000
       END,
       count(*)
FROM redrive.events e JOIN redrive.jobs j ON j.id = e.job JOIN redrive.lanes l ON l.id = j.lane
WHERE e.seq > $1 AND e.seq <= $2
  AND (e.kind IN ('complete', 'retry', 'failed', 'cancelled', 'reclaimed') OR (e.kind = 'queued' AND e.started_at IS NULL))
GROUP BY 1, 2, 3, 4, 5
