SELECT outcome, rule, code, late FROM attempts WHERE job = ?1 AND token = ?2
