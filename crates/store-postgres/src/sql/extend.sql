-- Rows are found by their id: what runs has a lease that ends, and saying it so keeps the planner off the index of leases,
-- which it believes to be empty after a look at a table where nothing ran.
-- A row that somebody else has locked is skipped and reported, so that it does not stop the others.
WITH clock AS MATERIALIZED (SELECT redrive.now_ms() AS now),
input AS MATERIALIZED (SELECT * FROM unnest($2::uuid[], $3::int8[]) WITH ORDINALITY AS i (id, token, ord)),
mine AS MATERIALIZED (
    SELECT j.id FROM input i JOIN redrive.jobs j ON j.id = i.id
    WHERE j.lease_expires_at IS NOT NULL AND j.lease_token = i.token AND j.leased_by = $1
    FOR UPDATE OF j SKIP LOCKED
),
kept AS (
    UPDATE redrive.jobs j
    SET lease_expires_at = least(clock.now + $4::int8, 253402207200999)
    FROM mine, clock WHERE j.id = mine.id
    RETURNING j.id, j.lease_token, j.lease_expires_at
)
SELECT k.lease_expires_at,
       EXISTS (SELECT 1 FROM redrive.jobs j WHERE j.id = i.id AND j.lease_expires_at IS NOT NULL AND j.lease_token = i.token
                                              AND j.leased_by = $1)
FROM input i LEFT JOIN kept k ON k.id = i.id AND k.lease_token = i.token ORDER BY i.ord
