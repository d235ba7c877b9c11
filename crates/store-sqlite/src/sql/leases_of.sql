SELECT j.id, j.lane, j.owner, j.lease_token, j.attempt, j.max_attempts, j.generation, j.crashes, j.releases, j.spent,
       j.batch_id, j.queued_at, j.leased_at, j.lease_expires_at, j.probe, p.label, p.input, p.state
FROM jobs j LEFT JOIN payloads p ON p.job = j.id
WHERE j.state = 'processing' AND j.leased_by = ?1 ORDER BY j.id
