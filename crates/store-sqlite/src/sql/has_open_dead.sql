SELECT 1 FROM dead_letters WHERE job = ?1 AND state = 'open' AND seq <= ?2
