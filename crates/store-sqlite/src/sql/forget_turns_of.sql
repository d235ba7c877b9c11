DELETE FROM breaker_turns WHERE target = ?1
  AND number <= (SELECT number FROM breaker_turns WHERE target = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)
