SELECT coalesce(max(seq), 0), count(*) FROM (SELECT seq FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2)
