INSERT INTO events (batch_id, kind, at) VALUES (?1, 'batch_ended', ?2)
