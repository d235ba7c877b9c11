INSERT INTO workers (id, name, build, draining, concurrency, started_at, seen_at, alive_until)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7)
ON CONFLICT (id) DO UPDATE
SET name = excluded.name, build = excluded.build, draining = excluded.draining, concurrency = excluded.concurrency,
    seen_at = excluded.seen_at, alive_until = excluded.alive_until
RETURNING drain_wanted
