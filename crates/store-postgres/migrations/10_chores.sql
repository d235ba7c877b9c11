-- The engine's own jobs and permanent ones are few among millions: each says so itself, from its beginning, and is found by that alone.
ALTER TABLE redrive.jobs ADD COLUMN chore boolean NOT NULL DEFAULT false;

-- A permanent job carries nothing, and is called as its workload.
UPDATE redrive.jobs j SET chore = true
FROM redrive.lanes l
WHERE l.id = j.lane
  AND (starts_with(l.workload, 'redrive' || '.')
       OR (j.state IN ('queued', 'processing')
           AND EXISTS (SELECT 1 FROM redrive.payloads p WHERE p.job = j.id AND p.label = l.workload AND p.input = 'null'::bytea)));

CREATE INDEX jobs_chore ON redrive.jobs (id) WHERE chore;
