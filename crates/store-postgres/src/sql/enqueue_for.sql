-- Jobs that need nothing but themselves, for a worker that waits for work: those that it has room for ($12) are born claimed,
-- in one statement and without a second version of their rows. Only when nothing stands before them: while a workload ($15)
-- is paused, a target ($16) is held or admits only so many, or another job of the same lane is due, all are queued like any
-- others, and the claim chooses.
WITH clock AS MATERIALIZED (
    SELECT redrive.now_ms() AS now, pg_current_xact_id() AS id,
           NOT EXISTS (SELECT 1 FROM redrive.settings s WHERE s.key = ANY ($15::text[]))
           AND NOT EXISTS (SELECT 1 FROM redrive.breakers b
                           WHERE b.target = ANY ($16::text[]) AND (b.blocked_until > redrive.now_ms() OR b.admits IS NOT NULL))
           AS clear
),
input AS MATERIALIZED (
    SELECT i.*, clock.now, CASE WHEN clock.id IS NOT NULL THEN nextval('redrive.events_seq_seq') END AS seq,
           i.room AND clock.clear AND NOT EXISTS (
               SELECT 1 FROM redrive.jobs q WHERE q.state = 'queued' AND q.lane = i.lane AND q.due_at <= clock.now
           ) AS claimed
    FROM clock, unnest($1::uuid[], $2::int4[], $3::text[], $4::int8[], $5::int8[], $6::int4[], $7::text[], $8::text[], $9::int8[],
                       $10::text[], $11::bytea[], $12::bool[])
        AS i (id, lane, owner, due_in, due_at, max_attempts, failure_code, failure_message, keep_ms, label, input, room)
),
payload AS (
    INSERT INTO redrive.payloads (job, label, input) SELECT id, label, input FROM input
),
event AS (
    INSERT INTO redrive.events (seq, job, kind, at, generation) SELECT seq, id, 'queued', now, 1 FROM input
),
counted AS (
    INSERT INTO redrive.tallies AS t (lane, kind, shard, n)
    SELECT lane, 'created', (pg_backend_pid() % 256)::int2, count(*) FROM input GROUP BY lane ORDER BY lane
    ON CONFLICT (lane, kind, shard) DO UPDATE SET n = t.n + excluded.n
)
INSERT INTO redrive.jobs (id, lane, owner, state, due_at, max_attempts, created_at, queued_at, queued_event, attempt, lease_token,
                          leased_by, leased_at, lease_expires_at, started_at)
SELECT id, lane, owner, CASE WHEN claimed THEN 'processing' ELSE 'queued' END,
       CASE WHEN due_at IS NULL THEN least(now + due_in, 253402207200999) ELSE greatest(due_at, now) END, max_attempts, now, now, seq,
       CASE WHEN claimed THEN 1 ELSE 0 END, CASE WHEN claimed THEN 1 ELSE 0 END, CASE WHEN claimed THEN $13::uuid END,
       CASE WHEN claimed THEN now END, CASE WHEN claimed THEN least(now + $14::int8, 253402207200999) END,
       CASE WHEN claimed THEN now END
FROM input
RETURNING id, state = 'processing', queued_at, lease_expires_at
