UPDATE documents SET told = ?2 WHERE id = ?1
