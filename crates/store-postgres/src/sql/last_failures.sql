SELECT wanted.job, a.code, a.ended_at
FROM unnest($1::uuid[]) AS wanted (job)
CROSS JOIN LATERAL (SELECT code, ended_at FROM redrive.attempts WHERE job = wanted.job AND code IS NOT NULL
                    ORDER BY token DESC LIMIT 1) AS a
