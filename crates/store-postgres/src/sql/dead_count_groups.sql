SELECT coalesce(sum(open), 0)::int8 FROM redrive.failure_groups
WHERE open > 0
  AND ($1::text[] IS NULL OR code = ANY ($1))
  AND ($2::text IS NULL OR workload = $2)
