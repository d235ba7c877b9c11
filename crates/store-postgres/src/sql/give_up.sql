WITH input AS MATERIALIZED (SELECT * FROM unnest($1::uuid[]) WITH ORDINALITY AS i (id, ord)),
mine AS MATERIALIZED (
    SELECT input.ord, j.id, j.lane, j.attempt, j.generation, l.workload,
           (SELECT max(d.seq) FROM redrive.dead_letters d WHERE d.job = j.id) AS previous
    FROM input JOIN redrive.jobs j ON j.id = input.id JOIN redrive.lanes l ON l.id = j.lane
),
done AS (
    UPDATE redrive.jobs j
    SET state = 'failed', failure_code = $5, failure_message = $6, finished_at = $2, purge_at = $2 + $3::int8, awaits_batch = NULL
    FROM mine WHERE j.id = mine.id
),
event AS (
    INSERT INTO redrive.events (job, kind, at, generation, code) SELECT id, 'failed', $2, generation, $5 FROM mine ORDER BY ord
),
dead AS (
    INSERT INTO redrive.dead_letters (job, generation, reason, code, message, attempts, fingerprint, state, at, previous)
    SELECT id, generation, $4, $5, $7, attempt, $8, 'open', $2, previous FROM mine ORDER BY ord
    RETURNING seq, job
),
seen AS (
    INSERT INTO redrive.failure_groups AS g (fingerprint, workload, code, target, message, sample, state, first_seen, last_seen,
                                             failures, open)
    SELECT $8, (array_agg(workload ORDER BY ord))[1], $5, $9, $7, (array_agg(id ORDER BY ord))[count(*)], 'new', $2, $2, count(*), count(*) FROM mine
    HAVING count(*) > 0
    ON CONFLICT (fingerprint) DO UPDATE
    SET message = excluded.message, sample = excluded.sample, last_seen = excluded.last_seen,
        failures = g.failures + excluded.failures, open = g.open + excluded.open,
        state = CASE WHEN g.state = 'resolved' THEN 'regressed' ELSE g.state END
),
tally AS (
    INSERT INTO redrive.tallies AS t (lane, kind, shard, n)
    SELECT lane, 'failed', (pg_backend_pid() % 256)::int2, count(*) FROM mine GROUP BY lane ORDER BY lane
    ON CONFLICT (lane, kind, shard) DO UPDATE SET n = t.n + excluded.n
)
SELECT dead.job, dead.seq FROM dead
