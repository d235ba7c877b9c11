SELECT id, state, lane, purge_at, batch_id FROM jobs WHERE ?1 IS NULL OR id > ?1 ORDER BY id LIMIT ?2
