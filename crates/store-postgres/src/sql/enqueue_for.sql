-- Jobs that need nothing but themselves, for a worker that waits for work: those that it may run at once are born claimed,
-- in one statement and without a second version of their rows. Only when nothing stands before them: while another due job
-- of the wanted workloads waits, while a target admits only so many, or where there are many lanes, they are queued like
-- any others, and the claim chooses. The gates are those of `claim`.
WITH clock AS MATERIALIZED (SELECT redrive.now_ms() AS now, pg_current_xact_id() AS id),
few AS MATERIALIZED (
    SELECT l.id, l.workload, l.priority, want.room, want.per_target
    FROM unnest($13::text[], $14::int8[], $19::int8[]) AS want (workload, room, per_target)
    JOIN redrive.lanes l ON l.workload = want.workload
    WHERE NOT l.alone LIMIT 65
),
gates AS MATERIALIZED (
    SELECT b.target, b.admits, b.blocked_until > clock.now AS blocked
    FROM redrive.breakers b, clock
    WHERE (b.blocked_until IS NOT NULL OR b.admits IS NOT NULL) AND (b.blocked_until > clock.now OR b.admits IS NOT NULL)
),
admitted AS MATERIALIZED (
    SELECT l.id, l.priority, least(l.room, own.room, $15::int8) AS room
    FROM few AS l
    CROSS JOIN LATERAL (
        SELECT CASE WHEN l.per_target IS NOT NULL OR cardinality($17::text[]) > 0 THEN (
            SELECT min(coalesce(r.room, l.per_target)) FROM redrive.lane_targets t
            LEFT JOIN unnest($17::text[], $18::int8[]) AS r (target, room) ON r.target = t.target WHERE t.lane = l.id
        ) END AS room
    ) AS own
    WHERE (SELECT count(*) FROM few) <= 64
      AND NOT EXISTS (SELECT 1 FROM gates g WHERE g.admits IS NOT NULL AND NOT coalesce(g.blocked, false))
      AND NOT EXISTS (SELECT 1 FROM redrive.settings s WHERE s.key IN ('pause/', 'pause/' || l.workload))
      AND NOT EXISTS (SELECT 1 FROM redrive.lane_targets t JOIN gates g ON g.target = t.target
                      WHERE t.lane = l.id AND coalesce(g.blocked, false))
),
before AS MATERIALIZED (
    SELECT EXISTS (
        SELECT 1 FROM admitted a, clock CROSS JOIN LATERAL (
            SELECT 1 FROM redrive.jobs q WHERE q.state = 'queued' AND q.lane = a.id AND q.due_at <= clock.now
            ORDER BY q.due_at, q.id LIMIT 1
        ) AS j
    ) AS waits
),
numbered AS MATERIALIZED (
    SELECT i.*, clock.now, CASE WHEN clock.id IS NOT NULL THEN nextval('redrive.events_seq_seq') END AS seq,
           CASE WHEN i.due_at IS NULL THEN least(clock.now + i.due_in, 253402207200999) ELSE greatest(i.due_at, clock.now) END AS due
    FROM clock, unnest($1::uuid[], $2::int4[], $3::text[], $4::int8[], $5::int8[], $6::int4[], $7::text[], $8::text[], $9::int8[],
                       $10::text[], $11::bytea[])
        AS i (id, lane, owner, due_in, due_at, max_attempts, failure_code, failure_message, keep_ms, label, input)
),
input AS MATERIALIZED (
    -- Counted over all of them, which is never more than the room of any one workload or target.
    SELECT n.*, CASE
        WHEN n.failure_code IS NOT NULL THEN 'failed'
        WHEN n.due <= n.now AND NOT before.waits
             AND row_number() OVER (ORDER BY n.due > n.now, a.priority NULLS LAST, n.due, n.id) <= a.room THEN 'processing'
        ELSE 'queued'
    END AS state
    FROM before, numbered n LEFT JOIN admitted a ON a.id = n.lane
),
made AS (
    INSERT INTO redrive.jobs (id, lane, owner, state, due_at, max_attempts, failure_code, failure_message, created_at, queued_at,
                              finished_at, purge_at, queued_event, attempt, lease_token, leased_by, leased_at, lease_expires_at,
                              started_at)
    SELECT id, lane, owner, state, due, max_attempts, failure_code, failure_message, now, now,
           CASE WHEN state = 'failed' THEN now END, CASE WHEN state = 'failed' THEN now + keep_ms END,
           CASE WHEN state <> 'failed' THEN seq END, claimed::int, claimed::int,
           CASE WHEN claimed THEN $12::uuid END, CASE WHEN claimed THEN now END,
           CASE WHEN claimed THEN least(now + $16::int8, 253402207200999) END, CASE WHEN claimed THEN now END
    FROM (SELECT *, state = 'processing' AS claimed FROM input) AS i
    RETURNING id, lane, owner, lease_token, attempt, max_attempts, generation, crashes, releases, spent, batch_id, queued_at,
              leased_at, lease_expires_at, probe, due_at
),
payload AS (
    INSERT INTO redrive.payloads (job, label, input) SELECT id, label, input FROM input
),
event AS (
    INSERT INTO redrive.events (seq, job, kind, at, generation, code)
    SELECT seq, id, CASE WHEN failure_code IS NULL THEN 'queued' ELSE 'failed' END, now, 1, failure_code FROM input
),
counted AS (
    INSERT INTO redrive.tallies AS t (lane, kind, shard, n)
    SELECT lane, kind, (pg_backend_pid() % 256)::int2, count(*)
    FROM (SELECT lane, 'created' AS kind FROM input
          UNION ALL
          SELECT lane, 'failed' FROM input WHERE failure_code IS NOT NULL) AS c
    GROUP BY lane, kind ORDER BY lane, kind
    ON CONFLICT (lane, kind, shard) DO UPDATE SET n = t.n + excluded.n
)
SELECT 0::int8 AS ramps, NULL::int4 AS last_lane, 0::int8 AS steps,
       c.id, c.lane, c.owner, c.lease_token, c.attempt, c.max_attempts, c.generation, c.crashes, c.releases, c.spent,
       c.batch_id, c.queued_at, c.leased_at, c.lease_expires_at, c.probe, c.due_at, i.label, i.input, NULL::bytea AS state
FROM made c JOIN input i ON i.id = c.id
WHERE i.state = 'processing'
