SELECT (minute - ?1) / ?2, workload, kind, code, took_ms, sum(jobs) FROM minutes
WHERE minute >= ?1 GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
