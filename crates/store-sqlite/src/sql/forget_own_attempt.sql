UPDATE jobs SET leased_by = NULL, leased_at = NULL WHERE id = ?1
