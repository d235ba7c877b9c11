DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE seq <= ?1 AND seq < (SELECT max(seq) FROM events) ORDER BY seq LIMIT ?2)
