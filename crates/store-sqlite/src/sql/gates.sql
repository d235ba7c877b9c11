SELECT target, blocked_until, admits, probe FROM breakers
WHERE (blocked_until IS NOT NULL OR admits IS NOT NULL) AND (blocked_until > ?1 OR admits IS NOT NULL)
