SELECT (SELECT count(*) FROM (SELECT 1 FROM jobs INDEXED BY jobs_ready
            WHERE state = 'queued' AND lane = ?1 AND due_at > ?2 AND attempt = 0 AND started_at IS NULL
              AND awaits_batch IS NULL LIMIT ?3)),
       (SELECT count(*) FROM (SELECT 1 FROM jobs INDEXED BY jobs_ready
            WHERE state = 'queued' AND lane = ?1 AND due_at > ?2 LIMIT ?3)),
       (SELECT count(*) FROM (SELECT 1 FROM jobs WHERE state = 'queued' AND lane = ?1 AND awaits_batch IS NOT NULL
            AND due_at > ?2 LIMIT ?3)),
       (SELECT min(due_at) FROM jobs INDEXED BY jobs_ready WHERE state = 'queued' AND lane = ?1 AND due_at <= ?2),
       EXISTS (SELECT 1 FROM lane_targets t JOIN breakers b ON b.target = t.target
               WHERE t.lane = ?1 AND b.blocked_until > ?2)
