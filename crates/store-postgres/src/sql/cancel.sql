WITH input AS MATERIALIZED (SELECT * FROM unnest($1::uuid[]) WITH ORDINALITY AS i (id, ord)),
mine AS MATERIALIZED (
    SELECT input.ord, j.id, j.lane, j.state, j.lease_token, j.leased_by, j.leased_at, j.attempt, j.generation
    FROM input JOIN redrive.jobs j ON j.id = input.id
),
done AS (
    UPDATE redrive.jobs j
    SET state = 'cancelled', finished_at = $2, purge_at = $2 + $3::int8, leased_by = NULL, leased_at = NULL,
        lease_expires_at = NULL, probe = false, awaits_batch = NULL
    FROM mine WHERE j.id = mine.id
),
attempt AS (
    INSERT INTO redrive.attempts (job, token, number, generation, worker, started_at, ended_at, outcome)
    SELECT id, lease_token, attempt, generation, leased_by, leased_at, $2, 'cancelled' FROM mine WHERE state = 'processing'
),
event AS (
    INSERT INTO redrive.events (job, kind, at, started_at, generation, attempt)
    SELECT id, 'cancelled', $2, leased_at, generation, CASE WHEN state = 'processing' THEN attempt ELSE 0 END FROM mine
    ORDER BY ord
)
INSERT INTO redrive.tallies AS t (lane, kind, shard, n)
SELECT lane, 'cancelled', (pg_backend_pid() % 256)::int2, count(*) FROM mine GROUP BY lane ORDER BY lane
ON CONFLICT (lane, kind, shard) DO UPDATE SET n = t.n + excluded.n
