DELETE FROM attempts WHERE job = ?1
