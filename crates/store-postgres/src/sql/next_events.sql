SELECT coalesce(max(seq), 0)::int8, count(*) FROM (SELECT seq FROM redrive.events WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3) AS next
