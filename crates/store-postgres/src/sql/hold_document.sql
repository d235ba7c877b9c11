UPDATE redrive.documents
SET run = $2, stage = CASE WHEN stage IN ('done', 'gone') THEN stage ELSE 'processing' END, updated_at = redrive.now_ms()
WHERE id = $1 AND run <= $2
