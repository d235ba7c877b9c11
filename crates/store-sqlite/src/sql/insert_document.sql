INSERT INTO documents (id, root, path, place, version, bytes, owner, stage, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'waiting', ?8, ?8) ON CONFLICT DO NOTHING
