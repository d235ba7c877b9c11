SELECT id FROM redrive.jobs
WHERE dedupe = $1 AND dedupe IS NOT NULL AND expired_at IS NULL AND state IN ('queued', 'processing', 'complete')
