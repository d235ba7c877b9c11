-- Jobs that need nothing but themselves, all of them or none: an id that is taken fails the statement, and the caller goes
-- the longer way of `enqueue`. The transaction's id first, then the numbers: the reader's horizon relies on that order.
WITH clock AS MATERIALIZED (SELECT redrive.now_ms() AS now, pg_current_xact_id() AS id),
input AS MATERIALIZED (
    SELECT i.*, clock.now, CASE WHEN clock.id IS NOT NULL THEN nextval('redrive.events_seq_seq') END AS seq
    FROM clock, unnest($1::uuid[], $2::int4[], $3::text[], $4::int8[], $5::int8[], $6::int4[], $7::text[], $8::text[], $9::int8[],
                       $10::text[], $11::bytea[])
        AS i (id, lane, owner, due_in, due_at, max_attempts, failure_code, failure_message, keep_ms, label, input)
),
made AS (
    INSERT INTO redrive.jobs (id, lane, owner, state, due_at, max_attempts, failure_code, failure_message, created_at, queued_at,
                              finished_at, purge_at, queued_event)
    SELECT id, lane, owner, CASE WHEN failure_code IS NULL THEN 'queued' ELSE 'failed' END,
           CASE WHEN due_at IS NULL THEN least(now + due_in, 253402207200999) ELSE greatest(due_at, now) END, max_attempts,
           failure_code, failure_message, now, now, CASE WHEN failure_code IS NOT NULL THEN now END,
           CASE WHEN failure_code IS NOT NULL THEN now + keep_ms END, CASE WHEN failure_code IS NULL THEN seq END
    FROM input
),
payload AS (
    INSERT INTO redrive.payloads (job, label, input) SELECT id, label, input FROM input
),
event AS (
    INSERT INTO redrive.events (seq, job, kind, at, generation, code)
    SELECT seq, id, CASE WHEN failure_code IS NULL THEN 'queued' ELSE 'failed' END, now, 1, failure_code FROM input
)
INSERT INTO redrive.tallies AS t (lane, kind, shard, n)
SELECT lane, kind, (pg_backend_pid() % 256)::int2, count(*)
FROM (SELECT lane, 'created' AS kind FROM input
      UNION ALL
      SELECT lane, 'failed' FROM input WHERE failure_code IS NOT NULL) AS c
GROUP BY lane, kind ORDER BY lane, kind
ON CONFLICT (lane, kind, shard) DO UPDATE SET n = t.n + excluded.n
