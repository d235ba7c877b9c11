-- Per lane, bounded: due later and never tried, due later at all, waiting for a batch, first due, held.
SELECT i.lane,
       (SELECT count(*) FROM (SELECT 1 FROM redrive.jobs j WHERE j.state = 'queued' AND j.lane = i.lane AND j.due_at > clock.now
            AND j.attempt = 0 AND j.started_at IS NULL AND j.awaits_batch IS NULL LIMIT $2) AS a),
       (SELECT count(*) FROM (SELECT 1 FROM redrive.jobs j WHERE j.state = 'queued' AND j.lane = i.lane AND j.due_at > clock.now
            LIMIT $2) AS b),
       (SELECT count(*) FROM (SELECT 1 FROM redrive.jobs j WHERE j.state = 'queued' AND j.lane = i.lane AND j.due_at > clock.now
            AND j.awaits_batch IS NOT NULL LIMIT $2) AS c),
       (SELECT j.due_at FROM redrive.jobs j WHERE j.state = 'queued' AND j.lane = i.lane AND j.due_at <= clock.now
            ORDER BY j.due_at, j.id LIMIT 1),
       EXISTS (SELECT 1 FROM redrive.lane_targets t JOIN redrive.breakers b ON b.target = t.target
               WHERE t.lane = i.lane AND b.blocked_until > clock.now),
       clock.now
FROM (SELECT redrive.now_ms() AS now) AS clock, unnest($1::int4[]) AS i (lane)
