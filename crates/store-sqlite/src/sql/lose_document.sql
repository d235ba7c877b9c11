UPDATE documents SET stage = 'gone', updated_at = ?2 WHERE id = ?1
