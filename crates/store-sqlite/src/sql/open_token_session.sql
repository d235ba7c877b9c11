INSERT INTO sessions (key, created_at, seen_at, token)
SELECT ?1, ?3, ?3, id FROM tokens WHERE id = ?2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?3)
ON CONFLICT (key) DO UPDATE SET seen_at = excluded.seen_at
