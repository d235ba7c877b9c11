-- A bounded number of lines, newest first; the filters then look at those.
WITH scan AS MATERIALIZED (
    SELECT number FROM redrive.audit WHERE $1::int8 IS NULL OR number < $1 ORDER BY number DESC LIMIT $2
),
found AS (
    SELECT a.number, a.at, a.actor, a.action, a.subject, a.reason, a.outcome, a.scope, a.request_id, a.before, a.after
    FROM scan JOIN redrive.audit a ON a.number = scan.number
    WHERE ($4::text IS NULL OR strpos(lower(a.actor COLLATE "C"), lower($4 COLLATE "C")) > 0)
      AND ($5::text IS NULL OR starts_with(a.action, $5))
      AND ($6::text IS NULL OR strpos(lower(a.subject COLLATE "C"), lower($6 COLLATE "C")) > 0)
      AND ($7::int8 IS NULL OR a.at >= $7)
      AND ($8::text IS NULL OR a.request_id = $8)
    ORDER BY a.number DESC LIMIT $3
)
SELECT f.*, m.last, m.looked
FROM (SELECT (SELECT min(s.number) FROM scan s) AS last, (SELECT count(*) FROM scan) AS looked) AS m
LEFT JOIN found f ON true ORDER BY f.number DESC
