-- One statement, one transaction: jobs, payloads, events and counts. Rows whose id or dedupe key is taken are left out.
-- The transaction's id first, then the numbers: the reader's horizon relies on that order.
WITH clock AS MATERIALIZED (SELECT redrive.now_ms() AS now, pg_current_xact_id() AS id),
input AS MATERIALIZED (
    SELECT i.*, clock.now, clock.id AS transaction
    FROM clock, unnest($1::uuid[], $2::int4[], $3::text[], $4::int8[], $5::int8[], $6::int4[], $7::uuid[], $8::bytea[], $9::text[],
                $10::text[], $11::int8[], $12::text[], $13::bytea[], $14::bool[])
        AS i (id, lane, owner, due_in, due_at, max_attempts, batch_id, dedupe, failure_code, failure_message, keep_ms, label, input, chore)
),
made AS (
    INSERT INTO redrive.jobs (id, lane, owner, state, due_at, max_attempts, batch_id, dedupe, failure_code, failure_message,
                              created_at, queued_at, finished_at, purge_at, queued_event, chore)
    SELECT id, lane, owner, CASE WHEN failure_code IS NULL THEN 'queued' ELSE 'failed' END,
           CASE WHEN due_at IS NULL THEN least(now + due_in, 253402207200999) ELSE greatest(due_at, now) END, max_attempts, batch_id, dedupe,
           failure_code, failure_message, now, now,
           CASE WHEN failure_code IS NOT NULL THEN now END, CASE WHEN failure_code IS NOT NULL THEN now + keep_ms END,
           CASE WHEN failure_code IS NULL AND transaction IS NOT NULL THEN nextval('redrive.events_seq_seq') END, chore
    FROM input
    ON CONFLICT DO NOTHING
    RETURNING id, lane, created_at, failure_code, queued_event
),
payload AS (
    INSERT INTO redrive.payloads (job, label, input)
    -- Compared this way Postgres looks the ids up in a hash table, whatever it thinks of their number.
    SELECT i.id, i.label, i.input FROM input i WHERE (i.id IN (SELECT made.id FROM made)) = true
),
event AS (
    INSERT INTO redrive.events (seq, job, kind, at, generation, code)
    SELECT coalesce(queued_event, nextval('redrive.events_seq_seq')), id,
           CASE WHEN failure_code IS NULL THEN 'queued' ELSE 'failed' END, created_at, 1, failure_code
    FROM made
),
tally AS (
    INSERT INTO redrive.tallies AS t (lane, kind, shard, n)
    SELECT lane, kind, (pg_backend_pid() % 256)::int2, sum(n)
    FROM (SELECT lane, 'created' AS kind, count(*) AS n FROM made GROUP BY lane
          UNION ALL
          SELECT lane, 'failed', count(*) FROM made WHERE failure_code IS NOT NULL GROUP BY lane) AS c
    GROUP BY lane, kind ORDER BY lane, kind
    ON CONFLICT (lane, kind, shard) DO UPDATE SET n = t.n + excluded.n
)
SELECT id, created_at FROM made
