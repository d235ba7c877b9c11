-- Rows are found by their id: what runs has a lease that ends, and saying it so keeps the planner off the index of leases,
-- which it believes to be empty after a look at a table where nothing ran.
-- Back to the queue, for every reason there is. $1 says per row whether the lease must have run out.
WITH clock AS MATERIALIZED (SELECT redrive.now_ms() AS now),
input AS MATERIALIZED (
    SELECT * FROM unnest($1::bool[], $2::uuid[], $3::int8[], $4::text[], $5::text[], $6::int8[], $7::int8[], $8::uuid[], $9::int4[],
                         $10::int4[], $11::int4[], $12::text[], $13::bool[], $14::text[], $15::text[], $16::text[], $17::int4[],
                         $18::text[], $19::text[], $20::text[], $21::text[], $22::bytea[])
        WITH ORDINALITY AS i (expired, id, token, outcome, kind, due_in, due_at, awaits, charge, crashed, released, spent, alone, code, message,
              context, target_status, rule, policy, fingerprint, target, state, ord)
),
done AS (
    UPDATE redrive.jobs j
    SET state = 'queued',
        lane = CASE WHEN l.alone = i.alone THEN j.lane
                    ELSE (SELECT n.id FROM redrive.lanes n WHERE n.workload = l.workload AND n.targets = l.targets
                                                             AND n.priority = l.priority AND n.alone = i.alone) END,
        due_at = CASE WHEN i.due_at IS NOT NULL THEN greatest(i.due_at, clock.now)
                      WHEN i.due_in IS NOT NULL THEN least(clock.now + i.due_in, 253402207200999)
                      ELSE j.due_at END,
        attempt = CASE i.charge WHEN 0 THEN j.attempt WHEN 1 THEN greatest(j.attempt - 1, 0) ELSE 0 END,
        crashes = j.crashes + i.crashed, releases = j.releases + i.released, spent = i.spent, awaits_batch = i.awaits,
        leased_by = NULL, leased_at = NULL, lease_expires_at = NULL, probe = false
    -- The row as it was: the fence says that it is still the same lease.
    FROM clock, input i JOIN redrive.jobs o ON o.id = i.id AND o.lease_expires_at IS NOT NULL AND o.lease_token = i.token
    JOIN redrive.lanes l ON l.id = o.lane
    WHERE j.id = i.id AND j.lease_expires_at IS NOT NULL AND j.lease_token = i.token
      AND (NOT i.expired OR j.lease_expires_at <= clock.now)
    RETURNING j.id, j.lane AS new_lane, j.generation, o.lane AS old_lane, o.attempt, o.leased_by, o.leased_at, l.workload,
              clock.now, i.token, i.outcome, i.kind, i.code, i.message, i.context, i.target_status, i.rule, i.policy,
              i.fingerprint, i.target, i.state, i.ord
),
attempt AS (
    INSERT INTO redrive.attempts (job, token, number, generation, worker, started_at, ended_at, outcome, code, message, context,
                                  target_status, rule, policy)
    SELECT m.id, m.token, m.attempt, m.generation, m.leased_by, m.leased_at, m.now, m.outcome, m.code, m.message, m.context,
           m.target_status, m.rule, m.policy
    FROM done m
),
event AS (
    INSERT INTO redrive.events (job, kind, at, started_at, generation, attempt, target_status, code)
    SELECT m.id, m.kind, m.now, m.leased_at, m.generation, m.attempt, m.target_status, m.code FROM done m
),
payload AS (
    UPDATE redrive.payloads p SET state = m.state FROM done m WHERE p.job = m.id AND m.state IS NOT NULL
),
seen AS (
    INSERT INTO redrive.failure_groups AS g (fingerprint, workload, code, target, message, sample, state, first_seen, last_seen,
                                             failures, open)
    SELECT m.fingerprint, (array_agg(m.workload ORDER BY m.ord))[1], (array_agg(m.code ORDER BY m.ord))[1],
           (array_agg(m.target ORDER BY m.ord))[1], (array_agg(m.message ORDER BY m.ord))[count(*)],
           (array_agg(m.id ORDER BY m.ord))[count(*)], 'new', min(m.now), min(m.now), count(*), 0
    FROM done m WHERE m.fingerprint IS NOT NULL GROUP BY m.fingerprint ORDER BY m.fingerprint
    ON CONFLICT (fingerprint) DO UPDATE
    SET message = excluded.message, sample = excluded.sample, last_seen = excluded.last_seen,
        failures = g.failures + excluded.failures, state = CASE WHEN g.state = 'resolved' THEN 'regressed' ELSE g.state END
),
tally AS (
    INSERT INTO redrive.tallies AS t (lane, kind, shard, n)
    SELECT c.lane, 'created', (pg_backend_pid() % 256)::int2, sum(c.n)
    FROM (SELECT old_lane AS lane, -1 AS n FROM done WHERE old_lane <> new_lane
          UNION ALL
          SELECT new_lane, 1 FROM done WHERE old_lane <> new_lane) AS c
    GROUP BY c.lane ORDER BY c.lane
    ON CONFLICT (lane, kind, shard) DO UPDATE SET n = t.n + excluded.n
)
SELECT id FROM done
