DELETE FROM redrive.sessions WHERE key IN (SELECT key FROM redrive.sessions, redrive.now_ms() AS now WHERE seen_at <= now - $1 OR created_at <= now - $2 LIMIT $3)
