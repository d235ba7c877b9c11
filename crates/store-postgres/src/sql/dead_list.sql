WITH scan AS MATERIALIZED ({scan}),
found AS (
    SELECT d.seq, d.job, d.generation, l.workload, coalesce(j.owner, b.owner) AS owner, d.reason, d.code, d.message, d.attempts,
           d.fingerprint, d.state, d.at, d.closed_at, d.replay_id, d.previous
    FROM scan JOIN redrive.dead_letters d ON d.seq = scan.seq JOIN redrive.jobs j ON j.id = d.job
    JOIN redrive.lanes l ON l.id = j.lane
    LEFT JOIN redrive.batches b ON b.id = j.batch_id
    WHERE d.state = $3
      AND ($4::text[] IS NULL OR d.code = ANY ($4))
      AND ($5::text IS NULL OR l.workload = $5)
      AND ($6::text IS NULL OR d.fingerprint = $6)
      AND ($7::text IS NULL OR coalesce(j.owner, b.owner) = $7)
      AND ($8::int8 IS NULL OR d.at >= $8)
      AND ($9::int8 IS NULL OR d.at < $9)
      AND ($11::text IS NULL OR EXISTS (SELECT 1 FROM redrive.lane_targets t WHERE t.lane = j.lane AND t.target = $11))
      AND ($13::int8 IS NULL OR d.seq <= $13)
      AND ($14::int8 IS NULL OR j.created_at >= $14)
      AND ($15::text IS NULL OR replace(j.id::text, '-', '') = replace(lower($15 COLLATE "C"), '-', '')
           OR EXISTS (SELECT 1 FROM redrive.payloads p WHERE p.job = j.id
                      AND strpos(lower(p.label COLLATE "C"), lower($15 COLLATE "C")) > 0))
      AND ($12::text IS NULL OR strpos(lower(d.message), lower($12)) > 0
           OR EXISTS (SELECT 1 FROM redrive.payloads p WHERE p.job = j.id AND strpos(lower(p.label), lower($12)) > 0))
    ORDER BY d.seq {order} LIMIT $10
)
SELECT f.*, m.last, m.looked
FROM (SELECT (SELECT {last}(s.seq) FROM scan s) AS last, (SELECT count(*) FROM scan) AS looked) AS m
LEFT JOIN found f ON true ORDER BY f.seq {order}
