UPDATE redrive.idempotency SET reply = $4 WHERE owner = $1 AND key = $2 AND reply = $3
