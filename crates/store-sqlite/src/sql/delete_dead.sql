DELETE FROM dead_letters WHERE job = ?1
