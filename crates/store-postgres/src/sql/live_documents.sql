SELECT count(*) FROM redrive.documents WHERE root = $1 AND stage IN ('waiting', 'processing')
