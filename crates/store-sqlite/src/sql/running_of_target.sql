SELECT count(*) FROM jobs j INDEXED BY jobs_leased
WHERE j.state = 'processing' AND EXISTS (SELECT 1 FROM lane_targets t WHERE t.lane = j.lane AND t.target = ?1)
