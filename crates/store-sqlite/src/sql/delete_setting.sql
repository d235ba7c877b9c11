DELETE FROM settings WHERE key = ?1
