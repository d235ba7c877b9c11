SELECT 1 FROM jobs WHERE id = ?1 AND state = 'complete' AND leased_by IS NOT NULL
