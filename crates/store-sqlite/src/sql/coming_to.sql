-- Few moves are open at a time: those are looked through, whatever else the tables hold.
SELECT m.document FROM moves m INDEXED BY moves_open CROSS JOIN documents d ON d.id = m.document
WHERE m.state = 'open' AND m.target = ?2 AND d.root = ?1 LIMIT 1
