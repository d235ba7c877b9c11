SELECT state, count(*) FROM redrive.jobs WHERE replay_id = $1 GROUP BY state
