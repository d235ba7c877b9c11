SELECT EXISTS (
    SELECT 1 FROM redrive.lanes l, (SELECT redrive.now_ms() AS now) AS clock
    WHERE l.alone AND l.workload = ANY ($1::text[])
      AND EXISTS (SELECT 1 FROM redrive.jobs j WHERE j.state = 'queued' AND j.lane = l.id AND j.due_at <= clock.now)
)
