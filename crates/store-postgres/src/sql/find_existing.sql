-- The very same id is said before anything about twins.
SELECT DISTINCT ON (i.ord) i.ord, j.id, j.id = i.id
FROM unnest($1::int8[], $2::uuid[], $3::bytea[]) AS i (ord, id, dedupe)
JOIN redrive.jobs j ON j.id = i.id
    OR (j.dedupe = i.dedupe AND j.dedupe IS NOT NULL AND j.expired_at IS NULL AND j.state IN ('queued', 'processing', 'complete'))
ORDER BY i.ord, (j.id = i.id) DESC
