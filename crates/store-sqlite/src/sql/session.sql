SELECT created_at, seen_at, token FROM sessions WHERE key = ?1 AND seen_at > ?2 AND created_at > ?3
