SELECT id, name, scope, hash, made_at, made_by, expires_at, revoked_at, used_at FROM tokens WHERE id = ?1
