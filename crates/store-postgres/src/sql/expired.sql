SELECT j.id, l.workload, l.alone, j.lease_token, j.leased_by, j.lease_expires_at, j.attempt, j.max_attempts, j.crashes, j.releases,
       j.spent, j.probe, j.queued_at,
       EXISTS (SELECT 1 FROM redrive.workers w WHERE w.id = j.leased_by AND w.alive_until > clock.now)
FROM (SELECT redrive.now_ms() AS now) AS clock, redrive.jobs j JOIN redrive.lanes l ON l.id = j.lane
WHERE j.state = 'processing' AND j.lease_expires_at <= clock.now AND ($2::text[] IS NULL OR l.workload = ANY ($2))
ORDER BY j.lease_expires_at, j.id LIMIT $1
