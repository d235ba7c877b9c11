INSERT INTO breakers (target, version, machine, blocked_until, admits, probe, updated_at)
VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (target) DO NOTHING
