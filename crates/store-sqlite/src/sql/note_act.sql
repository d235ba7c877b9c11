INSERT INTO audit (at, actor, action, subject, reason, scope, request_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING number
