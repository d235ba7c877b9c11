SELECT d.id, d.root, d.path, d.place, d.version, d.bytes, d.sha256, d.owner, d.stage, d.run, d.retries, d.exceeded,
       d.failure_code, d.failure_message, d.report, d.told, d.created_at, d.updated_at,
       (SELECT count(*) FROM failure_records r WHERE r.document = d.id AND r.notified = 0),
       (SELECT max(r.at) FROM failure_records r WHERE r.document = d.id AND r.notified = 0)
FROM documents d
WHERE d.id IN (SELECT document FROM failure_records WHERE owner = ?1 AND notified = 0
               UNION SELECT id FROM documents WHERE owner = ?1 AND stage = 'done' AND told IN ('failing', 'dead'))
ORDER BY d.id LIMIT ?2
