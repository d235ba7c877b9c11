INSERT INTO tokens (id, name, scope, hash, made_at, made_by, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO NOTHING
