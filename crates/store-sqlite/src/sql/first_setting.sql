-- An update that changes nothing, because only a row that was written is answered, and only then is it the one that holds.
INSERT INTO settings (key, value, updated_by, updated_at) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (key) DO UPDATE SET value = settings.value RETURNING value
