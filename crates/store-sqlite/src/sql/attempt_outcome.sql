SELECT outcome, rule, code, late FROM attempts WHERE job = ?1 AND token = ?2
UNION ALL
SELECT 'complete', coalesce(rule, 'handler_completed'), NULL, NULL
FROM jobs WHERE id = ?1 AND lease_token = ?2 AND state = 'complete' AND leased_by IS NOT NULL
LIMIT 1
