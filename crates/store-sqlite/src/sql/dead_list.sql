WITH scan AS MATERIALIZED ({scan})
SELECT d.seq, d.job, d.generation, l.workload, coalesce(j.owner, b.owner) AS owner, d.reason, d.code, d.message, d.attempts,
       d.fingerprint, d.state, d.at, d.closed_at, d.replay_id, d.previous, (SELECT {last}(seq) FROM scan), (SELECT count(*) FROM scan)
FROM scan JOIN dead_letters d ON d.seq = scan.seq JOIN jobs j ON j.id = d.job JOIN lanes l ON l.id = j.lane
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
ORDER BY d.seq {order} LIMIT :limit
