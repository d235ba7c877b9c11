SELECT m.document FROM moves m JOIN documents d ON d.id = m.document
WHERE m.state = 'open' AND m.target = ?2 AND d.root = ?1 LIMIT 1
