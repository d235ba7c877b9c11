UPDATE redrive.idempotency SET reply = $3 WHERE owner = $1 AND key = $2
