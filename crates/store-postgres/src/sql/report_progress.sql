-- Rows are found by their id: what runs has a lease that ends, and saying it so keeps the planner off the index of leases,
-- which it believes to be empty after a look at a table where nothing ran.
WITH mine AS MATERIALIZED (
    SELECT id FROM redrive.jobs WHERE id = $1 AND lease_expires_at IS NOT NULL AND lease_token = $2 FOR UPDATE
)
UPDATE redrive.payloads p SET progress = $3 FROM mine WHERE p.job = mine.id
