-- The same law as `shown` in the model; the conformance suite compares them.
WITH scan AS MATERIALIZED (SELECT id FROM jobs WHERE owner = ?2 ORDER BY id DESC LIMIT ?3)
SELECT CASE
         WHEN j.state <> 'queued' THEN j.state
         WHEN j.awaits_batch IS NOT NULL THEN 'waiting_batch'
         WHEN EXISTS (SELECT 1 FROM lane_targets t JOIN breakers b ON b.target = t.target
                      WHERE t.lane = j.lane AND b.blocked_until > ?1) THEN 'held'
         WHEN j.due_at > ?1 AND (j.attempt > 0 OR j.started_at IS NOT NULL) THEN 'waiting_retry'
         WHEN j.due_at > ?1 THEN 'scheduled'
         ELSE 'queued'
       END AS shown, count(*)
FROM scan JOIN jobs j ON j.id = scan.id GROUP BY 1 ORDER BY 1
