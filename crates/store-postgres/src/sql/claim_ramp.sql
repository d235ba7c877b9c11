-- The same for the lanes of one target whose breaker has just closed; the caller holds its row and knows its room.
WITH clock AS MATERIALIZED (SELECT redrive.now_ms() AS now),
admitted AS MATERIALIZED (
    SELECT l.id, l.workload, l.priority, want.room
    FROM redrive.lane_targets mine JOIN redrive.lanes l ON l.id = mine.lane
    JOIN unnest($2::text[], $3::int8[]) AS want (workload, room) ON want.workload = l.workload, clock
    WHERE mine.target = $7 AND l.alone = $6
      AND NOT EXISTS (SELECT 1 FROM redrive.settings s WHERE s.key IN ('pause/', 'pause/' || l.workload))
      AND NOT EXISTS (SELECT 1 FROM redrive.lane_targets t WHERE t.lane = l.id AND t.target = ANY ($8::text[]))
      AND NOT EXISTS (SELECT 1 FROM redrive.lane_targets t JOIN redrive.breakers b ON b.target = t.target
                      WHERE t.lane = l.id AND b.blocked_until > clock.now)
),
heads AS MATERIALIZED (
    SELECT j.id, j.due_at, a.priority, a.workload, a.room
    FROM admitted a, clock
    CROSS JOIN LATERAL (
        SELECT q.id, q.due_at FROM redrive.jobs q
        WHERE q.state = 'queued' AND q.lane = a.id AND q.due_at <= clock.now
        ORDER BY q.due_at, q.id LIMIT least(a.room, $4::int8)
        FOR UPDATE SKIP LOCKED
    ) AS j
),
picked AS MATERIALIZED (
    SELECT id FROM (
        SELECT h.*, row_number() OVER (PARTITION BY workload ORDER BY priority, due_at, id) AS nth FROM heads h
    ) AS r
    WHERE nth <= room ORDER BY priority, due_at, id LIMIT $4::int8
),
claimed AS (
    UPDATE redrive.jobs j
    SET state = 'processing', lease_token = j.lease_token + 1, leased_by = $1, leased_at = clock.now,
        lease_expires_at = least(clock.now + $5::int8, 253402207200999),
        attempt = j.attempt + 1, started_at = coalesce(j.started_at, clock.now)
    FROM picked, clock
    WHERE j.id = picked.id
    RETURNING j.*
)
SELECT 0::int8 AS ramps, 0::int4 AS last_lane, 0::int8 AS steps,
       c.id, l.workload, l.targets, l.alone, l.priority, c.owner, c.lease_token, c.attempt, c.max_attempts, c.generation,
       c.crashes, c.releases, c.spent, c.batch_id, c.queued_at, c.leased_at, c.lease_expires_at, c.probe, c.due_at,
       p.label, p.input, p.state
FROM claimed c JOIN redrive.lanes l ON l.id = c.lane LEFT JOIN redrive.payloads p ON p.job = c.id
ORDER BY l.priority, c.due_at, c.id
