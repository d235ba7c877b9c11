SELECT count(*), max(d.seq)
FROM dead_letters d JOIN jobs j ON j.id = d.job JOIN lanes l ON l.id = j.lane
LEFT JOIN batches b ON b.id = j.batch_id
WHERE d.state = :state
  AND (:codes IS NULL OR d.code IN (SELECT value FROM json_each(:codes)))
  AND (:workload IS NULL OR l.workload = :workload)
  AND (:group IS NULL OR d.fingerprint = :group)
  AND (:owner IS NULL OR coalesce(j.owner, b.owner) = :owner)
  AND (:since IS NULL OR d.at >= :since)
  AND (:until IS NULL OR d.at < :until)
  AND (:target IS NULL OR EXISTS (SELECT 1 FROM lane_targets t WHERE t.lane = j.lane AND t.target = :target))
  AND (:upto IS NULL OR d.seq <= :upto)
  AND (:created IS NULL OR j.created_at >= :created)
  AND (:label IS NULL OR lower(hex(j.id)) = replace(lower(:label), '-', '')
       OR EXISTS (SELECT 1 FROM payloads p WHERE p.job = j.id AND instr(lower(p.label), lower(:label)) > 0))
  AND (:text IS NULL OR instr(lower(d.message), lower(:text)) > 0
       OR EXISTS (SELECT 1 FROM payloads p WHERE p.job = j.id AND instr(lower(p.label), lower(:text)) > 0))
