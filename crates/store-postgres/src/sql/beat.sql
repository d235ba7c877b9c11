INSERT INTO redrive.workers (id, name, build, draining, concurrency, started_at, seen_at, alive_until)
SELECT $1, $2, $3, $4, $5, now, now, least(now + $6::int8, 253402207200999) FROM redrive.now_ms() AS now
ON CONFLICT (id) DO UPDATE
SET name = excluded.name, build = excluded.build, draining = excluded.draining, concurrency = excluded.concurrency,
    seen_at = excluded.seen_at, alive_until = excluded.alive_until
RETURNING drain_wanted
