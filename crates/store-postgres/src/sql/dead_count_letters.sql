-- A letter and its group have the same code and the same workload: their fingerprint is made of them.
SELECT count(*), max(seq) FROM redrive.dead_letters
WHERE state = $1
  AND ($2::text[] IS NULL OR code = ANY ($2))
  AND ($3::text IS NULL OR fingerprint IN (SELECT fingerprint FROM redrive.failure_groups WHERE workload = $3))
  AND ($4::text IS NULL OR fingerprint = $4)
  AND ($5::int8 IS NULL OR at >= $5)
  AND ($6::int8 IS NULL OR at < $6)
  AND ($7::int8 IS NULL OR seq <= $7)
