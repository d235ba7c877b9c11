UPDATE attempts SET late = ?3 WHERE job = ?1 AND token = ?2
