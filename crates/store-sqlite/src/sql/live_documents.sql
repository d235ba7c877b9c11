SELECT count(*) FROM documents WHERE root = ?1 AND stage IN ('waiting', 'processing')
