DELETE FROM sessions WHERE key = ?1
