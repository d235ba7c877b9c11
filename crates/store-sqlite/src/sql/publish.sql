INSERT INTO events (seq, kind, at, topic, payload) VALUES (?1, 'published', ?2, ?3, ?4)
