INSERT INTO idempotency (owner, key, request_hash, reply, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
