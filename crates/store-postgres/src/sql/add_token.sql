INSERT INTO redrive.tokens (id, name, scope, hash, made_at, made_by, expires_at) SELECT $1, $2, $3, $4, redrive.now_ms(), $5, $6
ON CONFLICT (id) DO NOTHING
