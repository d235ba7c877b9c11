-- The same law as `shown` in the model; the conformance suite compares them.
WITH clock AS MATERIALIZED (SELECT redrive.now_ms() AS now),
scan AS MATERIALIZED (SELECT id FROM redrive.jobs WHERE owner = $1 ORDER BY id DESC LIMIT $2)
SELECT CASE
         WHEN j.state <> 'queued' THEN j.state
         WHEN j.awaits_batch IS NOT NULL THEN 'waiting_batch'
         WHEN EXISTS (SELECT 1 FROM redrive.lane_targets t JOIN redrive.breakers b ON b.target = t.target
                      WHERE t.lane = j.lane AND b.blocked_until > clock.now) THEN 'held'
         WHEN j.due_at > clock.now AND (j.attempt > 0 OR j.started_at IS NOT NULL) THEN 'waiting_retry'
         WHEN j.due_at > clock.now THEN 'scheduled'
         ELSE 'queued'
       END AS shown, count(*)
FROM clock, scan JOIN redrive.jobs j ON j.id = scan.id GROUP BY 1 ORDER BY 1
