SELECT id FROM jobs
WHERE dedupe = ?1 AND dedupe IS NOT NULL AND expired_at IS NULL AND state NOT IN ('failed', 'cancelled')
