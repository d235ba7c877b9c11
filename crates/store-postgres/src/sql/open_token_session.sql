INSERT INTO redrive.sessions (key, created_at, seen_at, token)
SELECT $1, now, now, id FROM redrive.tokens, redrive.now_ms() AS now
WHERE id = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now)
ON CONFLICT (key) DO UPDATE SET seen_at = excluded.seen_at
