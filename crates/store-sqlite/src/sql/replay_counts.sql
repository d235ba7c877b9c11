SELECT state, count(*) FROM jobs WHERE replay_id = ?1 GROUP BY state
