SELECT EXISTS (
    SELECT 1 FROM lanes l
    WHERE l.alone = 1 AND l.workload IN (SELECT value FROM json_each(?2))
      AND EXISTS (SELECT 1 FROM jobs j INDEXED BY jobs_ready WHERE j.state = 'queued' AND j.lane = l.id AND j.due_at <= ?1)
)
