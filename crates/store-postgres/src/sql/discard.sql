WITH done AS (
    UPDATE redrive.dead_letters SET state = 'discarded', closed_at = redrive.now_ms()
    WHERE seq = ANY ($1::int8[]) AND state = 'open' RETURNING fingerprint
),
seen AS (
    UPDATE redrive.failure_groups g SET open = greatest(g.open - c.n, 0)
    FROM (SELECT fingerprint, count(*) AS n FROM done GROUP BY fingerprint) AS c WHERE g.fingerprint = c.fingerprint
)
SELECT count(*) FROM done
