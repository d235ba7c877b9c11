SELECT 1 FROM dead_letters WHERE job = ?1 LIMIT 1
