-- What is known about attempts whose finish changed nothing.
SELECT i.ord, coalesce(a.outcome, j.state), coalesce(a.rule, j.rule, CASE WHEN j.id IS NOT NULL THEN 'handler_completed' END), a.code
FROM unnest($1::uuid[], $2::int8[]) WITH ORDINALITY AS i (id, token, ord)
LEFT JOIN redrive.attempts a ON a.job = i.id AND a.token = i.token
LEFT JOIN redrive.jobs j ON j.id = i.id AND j.lease_token = i.token AND j.state = 'complete' AND j.leased_by IS NOT NULL
ORDER BY i.ord
