SELECT stage, count(*) FROM redrive.documents WHERE root = $1 GROUP BY stage ORDER BY stage
