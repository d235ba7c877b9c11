DELETE FROM redrive.attempts
WHERE job = $1 AND token <= (SELECT token FROM redrive.attempts WHERE job = $1 ORDER BY token DESC LIMIT 1 OFFSET $2)
