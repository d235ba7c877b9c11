UPDATE payloads SET state = ?2 WHERE job = ?1
