DELETE FROM redrive.workers w
WHERE w.alive_until < $1 AND NOT EXISTS (SELECT 1 FROM redrive.jobs j WHERE j.state = 'processing' AND j.leased_by = w.id)
