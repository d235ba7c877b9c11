SELECT l.id FROM lanes l
WHERE NOT EXISTS (SELECT 1 FROM lanes o JOIN tallies t ON t.lane = o.id
                  WHERE o.workload = l.workload AND o.targets = l.targets AND o.priority = l.priority AND t.n <> 0)
ORDER BY l.id LIMIT ?1
