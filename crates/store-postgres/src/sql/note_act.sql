INSERT INTO redrive.audit (at, actor, action, subject, reason) VALUES (redrive.now_ms(), $1, $2, $3, $4) RETURNING number
