UPDATE jobs
SET state = 'processing', lease_token = lease_token + 1, leased_by = ?2, leased_at = ?3, lease_expires_at = ?4,
    attempt = attempt + 1, started_at = coalesce(started_at, ?3), probe = ?5
WHERE id = ?1
