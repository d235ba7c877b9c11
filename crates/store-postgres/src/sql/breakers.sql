SELECT target, version, machine, updated_at FROM redrive.breakers WHERE $1::text IS NULL OR target = $1 ORDER BY target COLLATE "C"
