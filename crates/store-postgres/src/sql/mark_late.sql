UPDATE redrive.attempts a SET late = i.late
FROM unnest($1::uuid[], $2::int8[], $3::text[]) AS i (id, token, late)
WHERE a.job = i.id AND a.token = i.token AND a.late IS NULL
