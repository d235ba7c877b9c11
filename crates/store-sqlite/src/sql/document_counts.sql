SELECT stage, count(*) FROM documents WHERE root = ?1 GROUP BY stage ORDER BY stage
