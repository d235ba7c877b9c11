INSERT INTO breaker_turns (target, at, deed, why, actor) VALUES (?1, ?2, ?3, ?4, ?5)
