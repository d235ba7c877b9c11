-- What is known about attempts whose finish changed nothing.
SELECT i.ord, a.outcome, a.rule, a.code
FROM unnest($1::uuid[], $2::int8[]) WITH ORDINALITY AS i (id, token, ord)
LEFT JOIN redrive.attempts a ON a.job = i.id AND a.token = i.token
ORDER BY i.ord
