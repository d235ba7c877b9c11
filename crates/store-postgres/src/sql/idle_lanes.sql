-- Lanes without a job, neither in them nor in the lane beside them for running alone.
SELECT l.id FROM redrive.lanes l
WHERE ($1::int4[] IS NULL OR l.id = ANY ($1))
  AND NOT EXISTS (SELECT 1 FROM redrive.lanes o JOIN redrive.tallies t ON t.lane = o.id AND t.kind = 'created'
                  WHERE o.workload = l.workload AND o.targets = l.targets AND o.priority = l.priority
                  HAVING sum(t.n) <> 0)
ORDER BY l.id LIMIT $2
