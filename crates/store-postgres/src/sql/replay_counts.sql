-- Only what failed is started again: a generation that is not the newest any more has failed.
SELECT CASE WHEN j.generation = d.generation + 1 THEN j.state ELSE 'failed' END, count(*)
FROM redrive.dead_letters d JOIN redrive.jobs j ON j.id = d.job
WHERE d.replay_id = $1 GROUP BY 1
