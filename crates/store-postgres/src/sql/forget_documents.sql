DELETE FROM redrive.documents WHERE id IN (
    SELECT d.id FROM redrive.documents d
    WHERE d.stage IN ('done', 'failed', 'gone') AND d.updated_at < $1
      AND NOT EXISTS (SELECT 1 FROM redrive.jobs j WHERE j.id = d.id)
      AND NOT EXISTS (SELECT 1 FROM redrive.moves m WHERE m.document = d.id AND m.state = 'open')
    ORDER BY d.updated_at LIMIT $2
)
