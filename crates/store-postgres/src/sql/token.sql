SELECT id, name, scope, hash, made_at, made_by, expires_at, revoked_at, used_at, now
FROM redrive.tokens, redrive.now_ms() AS now WHERE id = $1
