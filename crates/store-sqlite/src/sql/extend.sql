UPDATE jobs SET lease_expires_at = ?4
WHERE id = ?1 AND state = 'processing' AND lease_token = ?2 AND leased_by = ?3
