WITH done AS (
    UPDATE redrive.jobs SET result = NULL, expired_at = $2 WHERE id = ANY ($1::uuid[]) AND expired_at IS NULL
    RETURNING id, generation
)
INSERT INTO redrive.events (job, kind, at, generation) SELECT id, 'expired', $2, generation FROM done
