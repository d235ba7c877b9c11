DELETE FROM idempotency WHERE owner = ?1 AND key = ?2 AND reply = ?3
