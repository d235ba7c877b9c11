SELECT l.workload, t.kind, sum(t.n) FROM tallies t JOIN lanes l ON l.id = t.lane
GROUP BY l.workload, t.kind ORDER BY l.workload, t.kind
