SELECT job, token, number, generation, worker, started_at, ended_at, outcome, code, message, context, target_status, rule, policy,
       late
FROM redrive.attempts WHERE job = $1 ORDER BY token
