SELECT j.id, j.lane, j.lease_token, j.leased_by, j.lease_expires_at, j.attempt, j.max_attempts, j.crashes, j.releases, j.spent,
       j.probe, j.queued_at, EXISTS (SELECT 1 FROM workers w WHERE w.id = j.leased_by AND w.alive_until > ?1)
FROM jobs j INDEXED BY jobs_leased
WHERE j.state = 'processing' AND j.lease_expires_at <= ?1
  AND (?3 IS NULL OR (SELECT l.workload FROM lanes l WHERE l.id = j.lane) IN (SELECT value FROM json_each(?3)))
ORDER BY j.lease_expires_at, j.id LIMIT ?2
