UPDATE jobs
SET state = 'cancelled', finished_at = ?2, purge_at = ?3, leased_by = NULL, leased_at = NULL, lease_expires_at = NULL,
    probe = 0, awaits_batch = NULL
WHERE id = ?1
