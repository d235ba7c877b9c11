-- The last attempt of a complete job has no row: it is the newest.
WITH own AS MATERIALIZED (
    SELECT id FROM redrive.jobs WHERE id = $1 AND state = 'complete' AND leased_by IS NOT NULL
),
told AS (
    UPDATE redrive.jobs j SET leased_by = NULL, leased_at = NULL FROM own WHERE j.id = own.id AND $2 = 0 RETURNING 1
),
rows AS (
    DELETE FROM redrive.attempts
    WHERE job = $1 AND token <= (SELECT token FROM redrive.attempts WHERE job = $1 ORDER BY token DESC
                                 LIMIT 1 OFFSET greatest($2::int8 - (SELECT count(*) FROM own), 0))
    RETURNING 1
)
SELECT (SELECT count(*) FROM told) + (SELECT count(*) FROM rows)
