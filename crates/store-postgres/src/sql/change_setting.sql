INSERT INTO redrive.settings (key, value, updated_by, updated_at) VALUES ($1, $2, $3, redrive.now_ms())
ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_by = excluded.updated_by, updated_at = excluded.updated_at
