SELECT count(*), max(d.seq)
FROM redrive.dead_letters d JOIN redrive.jobs j ON j.id = d.job JOIN redrive.lanes l ON l.id = j.lane
LEFT JOIN redrive.batches b ON b.id = j.batch_id
WHERE d.state = $1
  AND ($2::text[] IS NULL OR d.code = ANY ($2))
  AND ($3::text IS NULL OR l.workload = $3)
  AND ($4::text IS NULL OR d.fingerprint = $4)
  AND ($5::text IS NULL OR coalesce(j.owner, b.owner) = $5)
  AND ($6::int8 IS NULL OR d.at >= $6)
  AND ($7::int8 IS NULL OR d.at < $7)
  AND ($8::text IS NULL OR EXISTS (SELECT 1 FROM redrive.lane_targets t WHERE t.lane = j.lane AND t.target = $8))
  AND ($10::int8 IS NULL OR d.seq <= $10)
  AND ($11::int8 IS NULL OR j.created_at >= $11)
  AND ($12::text IS NULL OR replace(j.id::text, '-', '') = replace(lower($12 COLLATE "C"), '-', '')
       OR EXISTS (SELECT 1 FROM redrive.payloads p WHERE p.job = j.id
                  AND strpos(lower(p.label COLLATE "C"), lower($12 COLLATE "C")) > 0))
  AND ($9::text IS NULL OR strpos(lower(d.message), lower($9)) > 0
       OR EXISTS (SELECT 1 FROM redrive.payloads p WHERE p.job = j.id AND strpos(lower(p.label), lower($9)) > 0))
