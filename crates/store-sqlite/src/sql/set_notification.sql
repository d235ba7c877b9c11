INSERT INTO notifications (owner, address, enabled) VALUES (?1, ?2, ?3)
ON CONFLICT (owner, address) DO UPDATE SET enabled = excluded.enabled
