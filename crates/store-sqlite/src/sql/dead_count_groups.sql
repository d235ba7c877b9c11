SELECT coalesce(sum(open), 0) FROM failure_groups
WHERE open > 0
  AND (:codes IS NULL OR code IN (SELECT value FROM json_each(:codes)))
  AND (:workload IS NULL OR workload = :workload)
