-- The plain success, one statement for many: job, attempt, event, counts. Members of a batch are left to the long way
-- unless $7 says that a transaction is open around it.
WITH clock AS MATERIALIZED (SELECT redrive.now_ms() AS now),
input AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::int8[], $3::text[], $4::int8[], $5::text[], $6::text[], $8::bool[])
        AS i (id, token, result, keep_ms, rule, policy, expired)
),
done AS (
    UPDATE redrive.jobs j
    SET state = 'complete', result = i.result, finished_at = clock.now, purge_at = clock.now + i.keep_ms, leased_by = NULL,
        leased_at = NULL, lease_expires_at = NULL, probe = false
    -- The row as it was: the fence says that it is still the same lease.
    FROM clock, input i JOIN redrive.jobs o ON o.id = i.id AND o.state = 'processing' AND o.lease_token = i.token
    WHERE j.id = i.id AND j.state = 'processing' AND j.lease_token = i.token AND ($7 OR j.batch_id IS NULL)
      AND (NOT i.expired OR j.lease_expires_at <= clock.now)
    RETURNING j.id, j.lane, j.attempt, j.generation, j.batch_id, j.lease_token, j.finished_at AS now, o.leased_by, o.leased_at,
              i.rule, i.policy
),
attempt AS (
    INSERT INTO redrive.attempts (job, token, number, generation, worker, started_at, ended_at, outcome, rule, policy)
    SELECT id, lease_token, attempt, generation, leased_by, leased_at, now, 'complete', rule, policy FROM done
),
event AS (
    INSERT INTO redrive.events (job, kind, at, started_at, generation, attempt)
    SELECT id, 'complete', now, leased_at, generation, attempt FROM done
),
tally AS (
    INSERT INTO redrive.tallies AS t (lane, kind, shard, n)
    SELECT lane, 'complete', (pg_backend_pid() % 32)::int2, count(*) FROM done GROUP BY lane ORDER BY lane
    ON CONFLICT (lane, kind, shard) DO UPDATE SET n = t.n + excluded.n
)
SELECT id, batch_id FROM done
