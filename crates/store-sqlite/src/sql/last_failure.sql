SELECT code, ended_at FROM attempts WHERE job = ?1 AND code IS NOT NULL ORDER BY token DESC LIMIT 1
