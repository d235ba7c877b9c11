SELECT request_hash, reply FROM idempotency WHERE owner = ?1 AND key = ?2
