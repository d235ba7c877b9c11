WITH taken AS (
    UPDATE redrive.tokens SET revoked_at = coalesce(revoked_at, redrive.now_ms()) WHERE id = $1 RETURNING id
), ended AS (
    DELETE FROM redrive.sessions WHERE token IN (SELECT id FROM taken)
)
SELECT id FROM taken
