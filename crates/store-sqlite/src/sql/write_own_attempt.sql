INSERT INTO attempts (job, token, number, generation, worker, started_at, ended_at, outcome, rule, policy)
SELECT id, lease_token, attempt, generation, leased_by, leased_at, finished_at, 'complete',
       coalesce(rule, 'handler_completed'), policy
FROM jobs WHERE id = ?1 AND lease_token = ?2 AND state = 'complete' AND leased_by IS NOT NULL
