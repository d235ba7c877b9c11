UPDATE dead_letters SET state = 'discarded', closed_at = ?2 WHERE seq = ?1 AND state = 'open' RETURNING fingerprint
