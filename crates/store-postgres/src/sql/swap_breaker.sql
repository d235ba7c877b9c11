UPDATE redrive.breakers
SET version = version + 1, machine = $2, blocked_until = $3, admits = $4, probe = $5, updated_at = redrive.now_ms()
WHERE target = $1 AND version = $6
