SELECT job, token, number, generation, worker, started_at, ended_at, outcome, code, message, context, target_status, rule,
       policy, late
FROM attempts WHERE job = ?1
UNION ALL
SELECT id, lease_token, attempt, generation, leased_by, leased_at, finished_at, 'complete', NULL, NULL, NULL, NULL,
       coalesce(rule, 'handler_completed'), policy, NULL
FROM jobs WHERE id = ?1 AND state = 'complete' AND leased_by IS NOT NULL
ORDER BY token
