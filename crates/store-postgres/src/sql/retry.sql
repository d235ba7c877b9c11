-- One job at a time: a twin that a concurrent enqueue has just made shows as a unique violation, which only this one pays.
WITH mine AS MATERIALIZED (
    SELECT j.id, j.lane AS old_lane, j.generation,
           CASE WHEN l.alone THEN (SELECT o.id FROM redrive.lanes o WHERE o.workload = l.workload AND o.targets = l.targets
                                     AND o.priority = l.priority AND NOT o.alone) ELSE j.lane END AS new_lane
    FROM redrive.jobs j JOIN redrive.lanes l ON l.id = j.lane WHERE j.id = $1
),
done AS (
    UPDATE redrive.jobs j
    SET state = 'queued', lane = m.new_lane, due_at = $2, queued_at = $2, generation = j.generation + 1, attempt = 0, crashes = 0,
        releases = 0, spent = NULL, started_at = NULL, finished_at = NULL, purge_at = NULL, failure_code = NULL,
        failure_message = NULL, replay_id = $3
    FROM mine m WHERE j.id = m.id
),
event AS (
    INSERT INTO redrive.events (job, kind, at, generation) SELECT id, 'queued', $2, generation + 1 FROM mine
),
dead AS (
    UPDATE redrive.dead_letters d SET state = 'replayed', closed_at = $2, replay_id = $3
    FROM mine m WHERE d.job = m.id AND d.state = 'open'
    RETURNING d.fingerprint
),
seen AS (
    UPDATE redrive.failure_groups g SET open = greatest(g.open - 1, 0) FROM dead WHERE g.fingerprint = dead.fingerprint
)
INSERT INTO redrive.tallies AS t (lane, kind, shard, n)
SELECT c.lane, c.kind, (pg_backend_pid() % 256)::int2, sum(c.n)
FROM (SELECT old_lane AS lane, 'failed' AS kind, -1 AS n FROM mine
      UNION ALL SELECT old_lane, 'created', -1 FROM mine WHERE old_lane <> new_lane
      UNION ALL SELECT new_lane, 'created', 1 FROM mine WHERE old_lane <> new_lane) AS c
GROUP BY c.lane, c.kind ORDER BY c.lane, c.kind
ON CONFLICT (lane, kind, shard) DO UPDATE SET n = t.n + excluded.n
