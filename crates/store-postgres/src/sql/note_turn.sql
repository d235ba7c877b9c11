INSERT INTO redrive.breaker_turns (target, at, deed, why, actor) VALUES ($1, redrive.now_ms(), $2, $3, $4)
