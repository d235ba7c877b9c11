-- {scan} picks a bounded number of ids, newest first, by the most selective index; the filters then look at those.
-- What people see is the same law as `shown` in the model; the conformance suite compares them.
WITH clock AS MATERIALIZED (SELECT redrive.now_ms() AS now),
scan AS MATERIALIZED ({scan}),
rows AS (
    SELECT j.id, l.workload, j.owner, p.label, j.state, l.targets, l.priority, l.alone, j.due_at, j.lease_token,
       CASE WHEN j.state = 'processing' THEN j.leased_by END AS leased_by,
           j.lease_expires_at, j.attempt, j.max_attempts, j.generation, j.crashes, j.releases, j.batch_id, j.awaits_batch,
           j.replay_id, j.failure_code, j.failure_message, j.result, j.created_at, j.queued_at, j.started_at, j.finished_at,
           j.expired_at, j.purge_at,
           EXISTS (SELECT 1 FROM redrive.lane_targets t JOIN redrive.breakers b ON b.target = t.target
                   WHERE t.lane = j.lane AND b.blocked_until > clock.now) AS held,
           clock.now, p.progress,
           $12::text IS NULL OR EXISTS (SELECT 1 FROM redrive.lane_targets t WHERE t.lane = j.lane AND t.target = $12) AS aimed
    FROM clock, scan JOIN redrive.jobs j ON j.id = scan.id JOIN redrive.lanes l ON l.id = j.lane
    LEFT JOIN redrive.payloads p ON p.job = j.id
),
found AS (
    SELECT * FROM rows
    WHERE ($3::text IS NULL OR workload = $3)
      AND ($4::text IS NULL OR owner = $4)
      AND ($5::uuid IS NULL OR batch_id = $5)
      AND (NOT $13::bool OR batch_id IS NULL)
      AND ($11::uuid IS NULL OR replay_id = $11)
      AND aimed
      AND ($14::uuid IS NULL OR leased_by = $14)
      AND ($6::int8 IS NULL OR created_at >= $6)
      AND ($15::int8 IS NULL OR finished_at >= $15)
      AND ($7::text[] IS NULL OR failure_code = ANY ($7))
      AND ($8::text IS NULL OR strpos(lower(coalesce(label, '') COLLATE "C"), lower($8 COLLATE "C")) > 0
           OR replace(id::text, '-', '') = replace(lower($8 COLLATE "C"), '-', ''))
      AND ($9::text[] IS NULL OR CASE
             WHEN state <> 'queued' THEN state
             WHEN awaits_batch IS NOT NULL THEN 'waiting_batch'
             WHEN held THEN 'held'
             WHEN due_at > now AND (attempt > 0 OR started_at IS NOT NULL) THEN 'waiting_retry'
             WHEN due_at > now THEN 'scheduled'
             ELSE 'queued'
           END = ANY ($9))
    ORDER BY id DESC LIMIT $10
)
SELECT f.*, m.last, m.looked
FROM (SELECT (SELECT s.id FROM scan s ORDER BY s.id LIMIT 1) AS last, (SELECT count(*) FROM scan) AS looked) AS m
LEFT JOIN found f ON true ORDER BY f.id DESC
