SELECT number, at, actor, action, subject, reason, outcome, scope, request_id, before, after FROM audit
WHERE ?1 IS NULL OR number < ?1 ORDER BY number DESC LIMIT ?2
