-- The same walk as claim, for the time in which some target admits only so many at once: answers and locks the first jobs of
-- every admitted lane, and leaves the choice to the caller, who knows how much room each target has.
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
    SELECT l.id, l.workload, l.targets, l.priority, want.room, own.room AS own
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
      AND NOT EXISTS (SELECT 1 FROM redrive.settings s WHERE s.key IN ('pause/', 'pause/' || l.workload))
      AND (own.room IS NULL OR own.room > 0)
      AND NOT EXISTS (SELECT 1 FROM redrive.lane_targets t JOIN gates g ON g.target = t.target
                      WHERE t.lane = l.id AND NOT g.probed AND coalesce(g.blocked, false))
      AND ($9::text[] IS NULL OR cardinality($9) = (SELECT count(*) FROM redrive.lane_targets t
                                                    JOIN gates g ON g.target = t.target WHERE t.lane = l.id AND g.probed))
),
heads AS MATERIALIZED (
    SELECT j.id, j.due_at, a.priority, a.workload, a.targets
    FROM admitted a, clock
    CROSS JOIN LATERAL (
        SELECT q.id, q.due_at FROM redrive.jobs q
        WHERE q.state = 'queued' AND q.lane = a.id AND q.due_at <= clock.now
        ORDER BY q.due_at, q.id LIMIT least(a.room, a.own, $4::int8)
        FOR UPDATE SKIP LOCKED
    ) AS j
)
SELECT id, workload, targets FROM heads, (SELECT $5::int8) AS ttl ORDER BY priority, due_at, id
