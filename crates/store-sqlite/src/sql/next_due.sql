SELECT min((SELECT min(j.due_at) FROM jobs j WHERE j.state = 'queued' AND j.lane = l.id AND j.due_at > ?1 AND j.awaits_batch IS NULL))
FROM lanes l
