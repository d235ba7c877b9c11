WITH input AS MATERIALIZED (SELECT unnest($1::uuid[]) AS id),
gone AS (
    DELETE FROM redrive.jobs j USING input i
    WHERE j.id = i.id AND j.state IN ('complete', 'failed', 'cancelled')
    RETURNING j.id, j.lane, j.state
),
payload AS (DELETE FROM redrive.payloads p USING gone g WHERE p.job = g.id),
attempt AS (DELETE FROM redrive.attempts a USING gone g WHERE a.job = g.id),
dead AS (DELETE FROM redrive.dead_letters d USING gone g WHERE d.job = g.id RETURNING d.fingerprint, d.state),
seen AS (
    UPDATE redrive.failure_groups f SET open = greatest(f.open - c.n, 0)
    FROM (SELECT fingerprint, count(*) AS n FROM dead WHERE state = 'open' GROUP BY fingerprint) AS c
    WHERE f.fingerprint = c.fingerprint
),
tally AS (
    INSERT INTO redrive.tallies AS t (lane, kind, shard, n)
    SELECT c.lane, c.kind, (pg_backend_pid() % 256)::int2, -sum(c.n)
    FROM (SELECT lane, state AS kind, 1 AS n FROM gone UNION ALL SELECT lane, 'created', 1 FROM gone) AS c
    GROUP BY c.lane, c.kind ORDER BY c.lane, c.kind
    ON CONFLICT (lane, kind, shard) DO UPDATE SET n = t.n + excluded.n
)
SELECT count(*) FROM gone
