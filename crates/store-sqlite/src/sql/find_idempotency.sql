SELECT request_hash, reply, created_at FROM idempotency WHERE owner = ?1 AND key = ?2
