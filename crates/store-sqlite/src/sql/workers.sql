SELECT w.id, w.name, w.build, w.draining, w.concurrency, w.started_at, w.seen_at, w.alive_until, w.drain_wanted,
       (SELECT count(*) FROM jobs j WHERE j.state = 'processing' AND j.leased_by = w.id)
FROM workers w ORDER BY w.started_at, w.id
