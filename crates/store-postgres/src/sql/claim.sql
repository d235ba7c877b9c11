-- Looks at every lane of the wanted workloads when they are few, else walks from lane to lane through those that have
-- something queued; leaves out the ones that may not pass, and takes the first jobs of the rest, in any order. Held, paused
-- and full lanes cost one step each, however many jobs wait in them.
WITH RECURSIVE clock AS MATERIALIZED (SELECT redrive.now_ms() AS now),
few AS MATERIALIZED (
    SELECT l.id FROM unnest($2::text[]) AS want (workload) JOIN redrive.lanes l ON l.workload = want.workload
    WHERE l.alone = $6
      -- The lanes of what is probed are few among many, and a walk might not come by.
      AND ($9::text[] IS NULL OR EXISTS (SELECT 1 FROM redrive.lane_targets t WHERE t.lane = l.id AND t.target = $9[1]))
    LIMIT 65
),
walk (lane, step) AS (
    SELECT (SELECT j.lane FROM redrive.jobs j WHERE j.state = 'queued' AND j.lane > $7 ORDER BY j.lane LIMIT 1), 1
    WHERE (SELECT count(*) FROM few) > 64
    UNION ALL
    SELECT (SELECT j.lane FROM redrive.jobs j WHERE j.state = 'queued' AND j.lane > w.lane ORDER BY j.lane LIMIT 1), w.step + 1
    FROM walk w WHERE w.lane IS NOT NULL AND w.step < $8
),
gates AS MATERIALIZED (
    SELECT b.target, b.admits, b.blocked_until > clock.now AS blocked,
           coalesce(b.target = ANY ($9) AND b.probe = $1, false) AS probed
    FROM redrive.breakers b, clock
    WHERE (b.blocked_until IS NOT NULL OR b.admits IS NOT NULL) AND (b.blocked_until > clock.now OR b.admits IS NOT NULL)
),
admitted AS MATERIALIZED (
    SELECT l.id, l.workload, l.priority, want.room, own.room AS own
    FROM (SELECT id FROM few WHERE (SELECT count(*) FROM few) <= 64 UNION ALL SELECT lane FROM walk) AS w
    JOIN redrive.lanes l ON l.id = w.id
    JOIN unnest($2::text[], $3::int8[], $12::int8[], $13::text[]) AS want (workload, room, per_target, kind)
      ON want.workload = l.workload
    -- What this worker has room for among the jobs of one set of targets.
    CROSS JOIN LATERAL (
        SELECT CASE WHEN want.per_target IS NOT NULL OR cardinality($10::text[]) > 0 THEN (
            SELECT min(coalesce(r.room, CASE WHEN coalesce(split_part(t.target, ':', 1) = want.kind, true) THEN want.per_target END))
            FROM redrive.lane_targets t
            LEFT JOIN unnest($10::text[], $11::int8[]) AS r (target, room) ON r.target = t.target WHERE t.lane = l.id
        ) END AS room
    ) AS own
    WHERE l.alone = $6
      -- While some target admits only so many, the longer way of claim_heads counts them.
      AND NOT EXISTS (SELECT 1 FROM gates g WHERE g.admits IS NOT NULL AND NOT coalesce(g.blocked, false))
      AND NOT EXISTS (SELECT 1 FROM redrive.settings s WHERE s.key IN ('pause/', 'pause/' || l.workload))
      AND (own.room IS NULL OR own.room > 0)
      AND NOT EXISTS (SELECT 1 FROM redrive.lane_targets t JOIN gates g ON g.target = t.target
                      WHERE t.lane = l.id AND NOT g.probed AND coalesce(g.blocked, false))
      AND ($9::text[] IS NULL OR cardinality($9) = (SELECT count(*) FROM redrive.lane_targets t
                                                    JOIN gates g ON g.target = t.target WHERE t.lane = l.id AND g.probed))
),
heads AS MATERIALIZED (
    SELECT j.place, j.id, j.due_at, a.priority, a.workload, a.room
    FROM admitted a, clock
    CROSS JOIN LATERAL (
        SELECT q.ctid AS place, q.id, q.due_at FROM redrive.jobs q
        WHERE q.state = 'queued' AND q.lane = a.id AND q.due_at <= clock.now
        ORDER BY q.due_at, q.id LIMIT least(a.room, a.own, $4::int8)
        FOR UPDATE SKIP LOCKED
    ) AS j
),
picked AS MATERIALIZED (
    -- With one lane per workload no workload can get more than its room; else they are counted.
    (SELECT place FROM heads WHERE (SELECT count(*) = count(DISTINCT workload) FROM admitted)
     ORDER BY priority, due_at, id LIMIT $4::int8)
    UNION ALL
    (SELECT place FROM (
        SELECT h.*, row_number() OVER (PARTITION BY workload ORDER BY priority, due_at, id) AS nth FROM heads h
        WHERE (SELECT count(*) > count(DISTINCT workload) FROM admitted)
     ) AS r
     WHERE nth <= room ORDER BY priority, due_at, id LIMIT $4::int8)
),
claimed AS (
    UPDATE redrive.jobs j
    SET state = 'processing', lease_token = j.lease_token + 1, leased_by = $1, leased_at = clock.now,
        lease_expires_at = least(clock.now + $5::int8, 253402207200999),
        attempt = j.attempt + 1, started_at = coalesce(j.started_at, clock.now), probe = $9::text[] IS NOT NULL
    FROM picked, clock
    -- They are locked, so they stay where they are; one that moved before it was locked waits for the next claim.
    WHERE j.ctid = picked.place
    RETURNING j.id, j.lane, j.owner, j.lease_token, j.attempt, j.max_attempts, j.generation, j.crashes, j.releases, j.spent,
              j.batch_id, j.queued_at, j.leased_at, j.lease_expires_at, j.probe, j.due_at
)
SELECT (SELECT count(*) FROM gates WHERE admits IS NOT NULL AND NOT coalesce(blocked, false)) AS ramps,
       (SELECT max(lane) FROM walk) AS last_lane, (SELECT count(*) FROM walk) AS steps,
       c.id, c.lane, c.owner, c.lease_token, c.attempt, c.max_attempts, c.generation, c.crashes, c.releases, c.spent,
       c.batch_id, c.queued_at, c.leased_at, c.lease_expires_at, c.probe, c.due_at, p.label, p.input, p.state
FROM (SELECT 1) AS one
LEFT JOIN claimed c ON true
LEFT JOIN redrive.payloads p ON p.job = c.id
