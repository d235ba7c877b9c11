SELECT count(*) FROM (SELECT 1 FROM redrive.jobs WHERE state = 'queued' LIMIT $1) AS q
