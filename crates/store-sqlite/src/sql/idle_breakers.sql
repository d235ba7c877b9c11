SELECT b.target, b.version, b.machine, EXISTS (SELECT 1 FROM lane_targets t WHERE t.target = b.target)
FROM breakers b WHERE b.updated_at < ?1
