INSERT INTO redrive.sessions (key, created_at, seen_at) SELECT $1, now, now FROM redrive.now_ms() AS now ON CONFLICT (key) DO NOTHING
