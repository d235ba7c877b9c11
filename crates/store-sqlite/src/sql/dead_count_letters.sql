-- A letter and its group have the same code and the same workload: their fingerprint is made of them.
SELECT count(*), max(seq) FROM dead_letters
WHERE state = :state
  AND (:codes IS NULL OR code IN (SELECT value FROM json_each(:codes)))
  AND (:workload IS NULL OR fingerprint IN (SELECT fingerprint FROM failure_groups WHERE workload = :workload))
  AND (:group IS NULL OR fingerprint = :group)
  AND (:since IS NULL OR at >= :since)
  AND (:until IS NULL OR at < :until)
  AND (:upto IS NULL OR seq <= :upto)
