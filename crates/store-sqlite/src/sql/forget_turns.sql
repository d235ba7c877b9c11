DELETE FROM breaker_turns WHERE at < ?1
