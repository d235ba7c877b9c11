-- An attempt that only its job's row tells gets a row of its own.
INSERT INTO attempts (job, token, number, generation, worker, started_at, ended_at, outcome, rule, policy, late)
SELECT id, lease_token, attempt, generation, leased_by, leased_at, finished_at, 'complete',
       coalesce(rule, 'handler_completed'), policy, ?3
FROM jobs WHERE id = ?1 AND lease_token = ?2 AND state = 'complete' AND leased_by IS NOT NULL
UNION ALL
SELECT job, token, number, generation, worker, started_at, ended_at, outcome, rule, policy, ?3
FROM attempts WHERE job = ?1 AND token = ?2
ON CONFLICT (job, token) DO UPDATE SET late = excluded.late
