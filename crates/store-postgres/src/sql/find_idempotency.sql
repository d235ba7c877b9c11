SELECT request_hash, reply, created_at FROM redrive.idempotency WHERE owner = $1 AND key = $2
