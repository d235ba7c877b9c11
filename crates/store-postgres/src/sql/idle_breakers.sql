SELECT b.target, b.version, b.machine, EXISTS (SELECT 1 FROM redrive.lane_targets t WHERE t.target = b.target), redrive.now_ms()
FROM redrive.breakers b WHERE b.updated_at < $1
