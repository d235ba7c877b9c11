-- Takes the jobs that were chosen from the heads; they are locked already.
WITH clock AS MATERIALIZED (SELECT redrive.now_ms() AS now),
claimed AS (
    UPDATE redrive.jobs j
    SET state = 'processing', lease_token = j.lease_token + 1, leased_by = $2, leased_at = clock.now,
        lease_expires_at = least(clock.now + $3::int8, 253402207200999),
        attempt = j.attempt + 1, started_at = coalesce(j.started_at, clock.now), probe = $4
    FROM clock WHERE j.id = ANY ($1::uuid[]) AND j.state = 'queued'
    RETURNING j.id, j.lane, j.owner, j.lease_token, j.attempt, j.max_attempts, j.generation, j.crashes, j.releases, j.spent,
              j.batch_id, j.queued_at, j.leased_at, j.lease_expires_at, j.probe, j.due_at
)
SELECT 0::int8 AS ramps, 0::int4 AS last_lane, 0::int8 AS steps,
       c.id, c.lane, c.owner, c.lease_token, c.attempt, c.max_attempts, c.generation, c.crashes, c.releases, c.spent,
       c.batch_id, c.queued_at, c.leased_at, c.lease_expires_at, c.probe, c.due_at, p.label, p.input, p.state
FROM claimed c LEFT JOIN redrive.payloads p ON p.job = c.id
