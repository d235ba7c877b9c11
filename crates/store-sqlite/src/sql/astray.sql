SELECT d.id, d.root, d.path, d.place, d.version, d.bytes, d.sha256, d.owner, d.stage, d.run, d.retries, d.exceeded, d.failure_code,
       d.failure_message, d.report, d.told, d.created_at, d.updated_at
FROM documents d LEFT JOIN jobs j ON j.id = d.id
WHERE d.root = ?1 AND d.stage IN ('waiting', 'processing') AND (?3 IS NULL OR d.id > ?3)
  AND (j.id IS NULL OR (j.state IN ('complete', 'failed', 'cancelled') AND j.finished_at <= ?2))
ORDER BY d.id LIMIT ?4
