WITH mine AS MATERIALIZED (
    SELECT id FROM redrive.jobs WHERE id = $1 AND state = 'processing' AND lease_token = $2 FOR UPDATE
)
UPDATE redrive.payloads p SET progress = $3 FROM mine WHERE p.job = mine.id
