-- Few moves are open at a time: those are looked through, whatever else the tables hold.
SELECT m.number, m.document, m.source, m.version, m.target, m.why, m.meta, m.state, m.note, m.began_at, m.ended_at
FROM moves m INDEXED BY moves_open CROSS JOIN documents d ON d.id = m.document
WHERE m.state = 'open' AND d.root = ?1 AND m.number > ?2 ORDER BY m.number LIMIT ?3
