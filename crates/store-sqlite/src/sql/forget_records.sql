DELETE FROM failure_records WHERE failure_id IN (
    SELECT r.failure_id FROM failure_records r
    WHERE r.at < ?1 AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.id = r.document)
    ORDER BY r.at LIMIT ?2
)
