DELETE FROM redrive.breaker_turns WHERE at < $1
