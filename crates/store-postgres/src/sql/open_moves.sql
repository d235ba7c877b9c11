SELECT m.number, m.document, m.source, m.version, m.target, m.why, m.meta, m.state, m.note, m.began_at, m.ended_at
FROM redrive.moves m JOIN redrive.documents d ON d.id = m.document
WHERE m.state = 'open' AND d.root = $1 AND m.number > $2 ORDER BY m.number LIMIT $3
