SELECT key, value, updated_by, updated_at FROM settings WHERE substr(key, 1, length(?1)) = ?1 ORDER BY key
