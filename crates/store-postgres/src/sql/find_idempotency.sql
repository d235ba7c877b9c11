SELECT request_hash, reply FROM redrive.idempotency WHERE owner = $1 AND key = $2
