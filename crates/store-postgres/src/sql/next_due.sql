SELECT min((SELECT j.due_at FROM redrive.jobs j
            WHERE j.state = 'queued' AND j.lane = l.id AND j.due_at > clock.now AND j.awaits_batch IS NULL
            ORDER BY j.due_at, j.id LIMIT 1))
FROM redrive.lanes l, (SELECT redrive.now_ms() AS now) AS clock
