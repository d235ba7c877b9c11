INSERT INTO redrive.documents (id, root, path, place, version, bytes, owner, stage, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, 'waiting', redrive.now_ms(), redrive.now_ms()) ON CONFLICT DO NOTHING
