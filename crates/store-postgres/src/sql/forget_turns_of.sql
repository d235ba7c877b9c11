DELETE FROM redrive.breaker_turns WHERE target = $1
  AND number <= (SELECT number FROM redrive.breaker_turns WHERE target = $1 ORDER BY number DESC LIMIT 1 OFFSET $2)
