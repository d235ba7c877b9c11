SELECT fingerprint, workload, code, target, message, sample, state, first_seen, last_seen, failures, open
FROM failure_groups
WHERE (:state IS NULL OR state = :state)
  AND (:fingerprint IS NULL OR fingerprint = :fingerprint)
  AND (:workload IS NULL OR workload = :workload)
  AND (:codes IS NULL OR code IN (SELECT value FROM json_each(:codes)))
  AND (:seen IS NULL OR (last_seen, fingerprint) < (:seen, :after))
ORDER BY last_seen DESC, fingerprint DESC LIMIT :limit
