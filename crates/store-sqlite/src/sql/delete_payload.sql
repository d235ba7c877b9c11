DELETE FROM payloads WHERE job = ?1
