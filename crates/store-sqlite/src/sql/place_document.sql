UPDATE documents SET place = ?2, version = ?3, updated_at = ?4 WHERE id = ?1
