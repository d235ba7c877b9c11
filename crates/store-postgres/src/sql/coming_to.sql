SELECT m.document FROM redrive.moves m JOIN redrive.documents d ON d.id = m.document
WHERE m.state = 'open' AND m.target = $2 AND d.root = $1 LIMIT 1
