SELECT number, target, at, deed, why, actor FROM breaker_turns
WHERE (?1 IS NULL OR target = ?1) AND (?2 IS NULL OR number < ?2) ORDER BY number DESC LIMIT ?3
