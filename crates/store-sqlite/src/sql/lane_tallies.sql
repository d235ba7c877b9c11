SELECT l.id, l.workload, l.targets, t.n FROM tallies t JOIN lanes l ON l.id = t.lane
WHERE t.kind = 'live' AND t.n <> 0 ORDER BY l.workload, l.targets, l.id
