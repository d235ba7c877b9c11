DELETE FROM redrive.failure_records WHERE failure_id IN (
    SELECT r.failure_id FROM redrive.failure_records r
    WHERE r.at < $1 AND NOT EXISTS (SELECT 1 FROM redrive.documents d WHERE d.id = r.document)
    ORDER BY r.at LIMIT $2
)
