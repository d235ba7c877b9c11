INSERT INTO events (kind, at, topic, payload) VALUES ('published', ?1, ?2, ?3)
