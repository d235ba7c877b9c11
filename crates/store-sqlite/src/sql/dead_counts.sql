SELECT workload, code, count(*), sum(open) FROM failure_groups WHERE open > 0 GROUP BY workload, code ORDER BY workload, code
