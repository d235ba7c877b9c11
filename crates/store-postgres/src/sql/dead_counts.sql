SELECT workload, code, count(*), sum(open)::int8 FROM redrive.failure_groups WHERE open > 0
GROUP BY workload, code ORDER BY workload COLLATE "C", code COLLATE "C"
