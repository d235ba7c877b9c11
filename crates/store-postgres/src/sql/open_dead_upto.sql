-- Locked, so that nobody discards them meanwhile.
SELECT job FROM redrive.dead_letters WHERE job = ANY ($1::uuid[]) AND state = 'open' AND seq <= $2 ORDER BY seq FOR UPDATE
