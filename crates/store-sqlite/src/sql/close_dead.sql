UPDATE dead_letters SET state = ?2, closed_at = ?3, replay_id = ?4 WHERE job = ?1 AND state = 'open' RETURNING fingerprint
