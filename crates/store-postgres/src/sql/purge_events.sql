-- Removes a chunk and notes how far: numbers have gaps here, so the oldest row alone does not tell what was removed.
WITH gone AS (
    DELETE FROM redrive.events WHERE seq IN (
        SELECT seq FROM redrive.events
        WHERE seq <= $1 AND seq < (SELECT max(seq) FROM redrive.events) ORDER BY seq LIMIT $2)
    RETURNING seq
),
mark AS (
    INSERT INTO redrive.settings AS s (key, value, updated_by, updated_at)
    SELECT 'events/purged', max(seq)::text, 'retention', redrive.now_ms() FROM gone HAVING count(*) > 0
    ON CONFLICT (key) DO UPDATE
    SET value = greatest(s.value::int8, excluded.value::int8)::text, updated_at = excluded.updated_at
)
SELECT count(*) FROM gone
