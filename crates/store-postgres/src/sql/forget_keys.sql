DELETE FROM redrive.idempotency WHERE created_at < $1
