DELETE FROM sessions WHERE key IN (SELECT key FROM sessions WHERE seen_at <= ?1 OR created_at <= ?2 LIMIT ?3)
