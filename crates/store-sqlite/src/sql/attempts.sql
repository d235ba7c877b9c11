SELECT job, token, number, generation, worker, started_at, ended_at, outcome, code, message, context, target_status, rule,
       policy, late
FROM attempts WHERE job = ?1
UNION ALL
SELECT id, lease_token, attempt, generation, leased_by, leased_at, finished_at, 'complete', NULL, NULL, NULL, NULL,
       coalesce(rule, 'handler_completed'), policy, NULL
FROM jobs j WHERE id = ?1 AND state = 'complete' AND leased_by IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.job = j.id AND a.token = j.lease_token)
ORDER BY token
