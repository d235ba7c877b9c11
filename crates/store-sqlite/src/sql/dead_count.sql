SELECT count(*)
FROM dead_letters d JOIN jobs j ON j.id = d.job JOIN lanes l ON l.id = j.lane
WHERE d.state = :state
  AND (:codes IS NULL OR d.code IN (SELECT value FROM json_each(:codes)))
  AND (:workload IS NULL OR l.workload = :workload)
  AND (:group IS NULL OR d.fingerprint = :group)
  AND (:owner IS NULL OR j.owner = :owner)
  AND (:since IS NULL OR d.at >= :since)
  AND (:until IS NULL OR d.at < :until)
