SELECT created_at, seen_at, now, token FROM redrive.sessions, redrive.now_ms() AS now WHERE key = $1 AND seen_at > now - $2 AND created_at > now - $3
