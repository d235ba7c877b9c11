SELECT fingerprint, workload, code, target, message, sample, state, first_seen, last_seen, failures, open
FROM redrive.failure_groups
WHERE ($1::text IS NULL OR state = $1)
  AND ($2::text IS NULL OR workload = $2)
  AND ($3::int8 IS NULL OR (last_seen, fingerprint COLLATE "C") < ($3, $4))
  AND ($6::text IS NULL OR fingerprint = $6)
  AND ($7::text[] IS NULL OR code = ANY ($7))
ORDER BY last_seen DESC, fingerprint COLLATE "C" DESC LIMIT $5
