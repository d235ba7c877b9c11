SELECT d.id, d.root, d.path, d.place, d.version, d.bytes, d.sha256, d.owner, d.stage, d.run, d.retries, d.exceeded,
       d.failure_code, d.failure_message, d.report, d.told, d.created_at, d.updated_at,
       (SELECT count(*) FROM redrive.failure_records r WHERE r.document = d.id AND NOT r.notified),
       (SELECT max(r.at) FROM redrive.failure_records r WHERE r.document = d.id AND NOT r.notified)
FROM redrive.documents d
WHERE d.id IN (SELECT document FROM redrive.failure_records WHERE owner = $1 AND NOT notified
               UNION SELECT id FROM redrive.documents WHERE owner = $1 AND stage = 'done' AND told IN ('failing', 'dead'))
ORDER BY d.id LIMIT $2
