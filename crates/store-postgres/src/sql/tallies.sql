SELECT l.id, l.workload, l.targets, l.alone, l.priority,
       coalesce(sum(t.n) FILTER (WHERE t.kind = 'created'), 0)::int8,
       coalesce(sum(t.n) FILTER (WHERE t.kind = 'complete'), 0)::int8,
       coalesce(sum(t.n) FILTER (WHERE t.kind = 'failed'), 0)::int8,
       coalesce(sum(t.n) FILTER (WHERE t.kind = 'cancelled'), 0)::int8
FROM redrive.tallies t JOIN redrive.lanes l ON l.id = t.lane
GROUP BY l.id ORDER BY l.workload COLLATE "C", l.targets COLLATE "C", l.id
