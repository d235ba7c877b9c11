SELECT lane, count(*) FROM jobs INDEXED BY jobs_leased WHERE state = 'processing' GROUP BY lane
