SELECT 0::int8 AS ramps, 0::int4 AS last_lane, 0::int8 AS steps,
       c.id, c.lane, c.owner, c.lease_token, c.attempt, c.max_attempts, c.generation, c.crashes, c.releases, c.spent,
       c.batch_id, c.queued_at, c.leased_at, c.lease_expires_at, c.probe, c.due_at, p.label, p.input, p.state
FROM redrive.jobs c LEFT JOIN redrive.payloads p ON p.job = c.id
WHERE c.state = 'processing' AND c.leased_by = $1
ORDER BY c.id
