SELECT number, target, at, deed, why, actor FROM redrive.breaker_turns
WHERE ($1::text IS NULL OR target = $1) AND ($2::int8 IS NULL OR number < $2) ORDER BY number DESC LIMIT $3
