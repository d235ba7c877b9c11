-- Rows are found by their id: what runs has a lease that ends, and saying it so keeps the planner off the index of leases,
-- which it believes to be empty after a look at a table where nothing ran.
-- Given up after an attempt: job, attempt, event, dead letter, group, counts.
WITH clock AS MATERIALIZED (SELECT redrive.now_ms() AS now),
input AS MATERIALIZED (
    SELECT * FROM unnest($1::bool[], $2::uuid[], $3::int8[], $4::text[], $5::int8[], $6::int4[], $7::text[], $8::text[], $9::text[],
                         $10::text[], $11::int4[], $12::text[], $13::text[], $14::text[], $15::text[], $16::bytea[])
        WITH ORDINALITY AS i (expired, id, token, reason, keep_ms, crashed, code, sentence, message, context, target_status, rule, policy,
              fingerprint, target, state, ord)
),
done AS (
    UPDATE redrive.jobs j
    SET state = 'failed', failure_code = i.code, failure_message = i.sentence, finished_at = clock.now,
        purge_at = clock.now + i.keep_ms, crashes = j.crashes + i.crashed, leased_by = NULL, leased_at = NULL,
        lease_expires_at = NULL, probe = false
    -- The row as it was: the fence says that it is still the same lease.
    FROM clock, input i JOIN redrive.jobs o ON o.id = i.id AND o.lease_expires_at IS NOT NULL AND o.lease_token = i.token
    JOIN redrive.lanes l ON l.id = o.lane
    WHERE j.id = i.id AND j.lease_expires_at IS NOT NULL AND j.lease_token = i.token
      AND (NOT i.expired OR j.lease_expires_at <= clock.now)
    RETURNING j.id, j.lane, j.attempt, j.generation, j.batch_id, o.leased_by, o.leased_at, l.workload, clock.now,
              (SELECT max(d.seq) FROM redrive.dead_letters d WHERE d.job = j.id) AS previous, i.token, i.reason, i.code, i.message,
              i.context, i.target_status, i.rule, i.policy, i.fingerprint, i.target, i.state, i.ord
),
attempt AS (
    INSERT INTO redrive.attempts (job, token, number, generation, worker, started_at, ended_at, outcome, code, message, context,
                                  target_status, rule, policy)
    SELECT m.id, m.token, m.attempt, m.generation, m.leased_by, m.leased_at, m.now, 'failed', m.code, m.message, m.context,
           m.target_status, m.rule, m.policy
    FROM done m
),
event AS (
    INSERT INTO redrive.events (job, kind, at, started_at, generation, attempt, target_status, code)
    SELECT m.id, 'failed', m.now, m.leased_at, m.generation, m.attempt, m.target_status, m.code FROM done m
    ORDER BY m.ord
),
payload AS (
    UPDATE redrive.payloads p SET state = m.state FROM done m WHERE p.job = m.id AND m.state IS NOT NULL
),
dead AS (
    INSERT INTO redrive.dead_letters (job, generation, reason, code, message, attempts, fingerprint, state, at, previous)
    SELECT m.id, m.generation, m.reason, m.code, m.message, m.attempt, m.fingerprint, 'open', m.now, m.previous
    FROM done m ORDER BY m.ord
    RETURNING seq, job
),
seen AS (
    INSERT INTO redrive.failure_groups AS g (fingerprint, workload, code, target, message, sample, state, first_seen, last_seen,
                                             failures, open)
    SELECT m.fingerprint, (array_agg(m.workload ORDER BY m.ord))[1], (array_agg(m.code ORDER BY m.ord))[1],
           (array_agg(m.target ORDER BY m.ord))[1], (array_agg(m.message ORDER BY m.ord))[count(*)],
           (array_agg(m.id ORDER BY m.ord))[count(*)], 'new', min(m.now), min(m.now), count(*), count(*)
    FROM done m GROUP BY m.fingerprint ORDER BY m.fingerprint
    ON CONFLICT (fingerprint) DO UPDATE
    SET message = excluded.message, sample = excluded.sample, last_seen = excluded.last_seen,
        failures = g.failures + excluded.failures, open = g.open + excluded.open,
        state = CASE WHEN g.state = 'resolved' THEN 'regressed' ELSE g.state END
),
tally AS (
    INSERT INTO redrive.tallies AS t (lane, kind, shard, n)
    SELECT lane, 'failed', (pg_backend_pid() % 256)::int2, count(*) FROM done GROUP BY lane ORDER BY lane
    ON CONFLICT (lane, kind, shard) DO UPDATE SET n = t.n + excluded.n
)
SELECT done.id, done.batch_id, dead.seq, done.now FROM done JOIN dead ON dead.job = done.id
