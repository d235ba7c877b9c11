INSERT INTO sessions (key, created_at, seen_at) VALUES (?1, ?2, ?2) ON CONFLICT (key) DO NOTHING
