INSERT INTO redrive.idempotency (owner, key, request_hash, reply, created_at)
VALUES ($1, $2, $3, $4, redrive.now_ms()) ON CONFLICT (owner, key) DO NOTHING
