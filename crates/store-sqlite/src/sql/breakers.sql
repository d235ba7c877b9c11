SELECT target, version, machine, updated_at FROM breakers WHERE ?1 IS NULL OR target = ?1 ORDER BY target
