INSERT INTO redrive.breakers (target, version, machine, blocked_until, admits, probe, updated_at)
VALUES ($1, 1, $2, $3, $4, $5, redrive.now_ms()) ON CONFLICT (target) DO NOTHING
