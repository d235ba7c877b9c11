DELETE FROM dead_letters WHERE job = ?1 RETURNING fingerprint, state = 'open'
