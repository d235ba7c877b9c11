UPDATE jobs SET result = NULL, expired_at = ?2 WHERE id = ?1
