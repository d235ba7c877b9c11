INSERT INTO redrive.audit (at, actor, action, subject, reason, scope, request_id)
VALUES (redrive.now_ms(), $1, $2, $3, $4, $5, $6) RETURNING number
