SELECT outcome, ended_at, late FROM attempts WHERE job = ?1 AND token = ?2
