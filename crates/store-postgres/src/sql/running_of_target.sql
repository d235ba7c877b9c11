SELECT count(*) FROM redrive.jobs j
WHERE j.state = 'processing' AND EXISTS (SELECT 1 FROM redrive.lane_targets t WHERE t.lane = j.lane AND t.target = $1)
