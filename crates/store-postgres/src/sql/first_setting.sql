-- An update that changes nothing, because only a row that was written is answered, and only then is it the one that holds.
INSERT INTO redrive.settings AS s (key, value, updated_by, updated_at) VALUES ($1, $2, $3, redrive.now_ms())
ON CONFLICT (key) DO UPDATE SET value = s.value RETURNING s.value
