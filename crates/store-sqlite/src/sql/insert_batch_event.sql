INSERT INTO events (seq, batch_id, kind, at) VALUES (?1, ?2, 'batch_ended', ?3)
