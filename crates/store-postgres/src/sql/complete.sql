-- Rows are found by their id: what runs has a lease that ends, and saying it so keeps the planner off the index of leases,
-- which it believes to be empty after a look at a table where nothing ran.
-- The success, one statement for many: job (which tells the attempt too), event, counts. Members of a batch are left to
-- the long way unless $7 says that a transaction is open around it. The transaction's id first, then the numbers: the
-- reader's horizon relies on that order.
WITH clock AS MATERIALIZED (SELECT redrive.now_ms() AS now, pg_current_xact_id() AS id),
done AS (
    UPDATE redrive.jobs j
    SET state = 'complete', result = i.result, finished_at = clock.now, purge_at = clock.now + i.keep_ms, rule = i.rule,
        policy = i.policy, lease_expires_at = NULL, probe = false,
        complete_event = CASE WHEN clock.id IS NOT NULL THEN nextval('redrive.events_seq_seq') END
    FROM clock, unnest($1::uuid[], $2::int8[], $3::text[], $4::int8[], $5::text[], $6::text[], $8::bool[])
        AS i (id, token, result, keep_ms, rule, policy, expired)
    WHERE j.id = i.id AND j.lease_expires_at IS NOT NULL AND j.lease_token = i.token AND ($7 OR j.batch_id IS NULL)
      AND (NOT i.expired OR j.lease_expires_at <= clock.now)
    RETURNING j.id, j.lane, j.attempt, j.generation, j.batch_id, j.finished_at, j.leased_at, j.complete_event
),
event AS (
    INSERT INTO redrive.events (seq, job, kind, at, started_at, generation, attempt)
    SELECT complete_event, id, 'complete', finished_at, leased_at, generation, attempt FROM done
),
tally AS (
    INSERT INTO redrive.tallies AS t (lane, kind, shard, n)
    SELECT lane, 'complete', (pg_backend_pid() % 256)::int2, count(*) FROM done GROUP BY lane ORDER BY lane
    ON CONFLICT (lane, kind, shard) DO UPDATE SET n = t.n + excluded.n
)
SELECT id, batch_id FROM done
