DELETE FROM sessions WHERE token = ?1
