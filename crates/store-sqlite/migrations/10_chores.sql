-- The engine's own jobs and permanent ones are few among millions: each says so itself, from its beginning, and is found by that alone.
ALTER TABLE jobs ADD COLUMN chore INTEGER NOT NULL DEFAULT 0;

-- A permanent job carries nothing, and is called as its workload.
UPDATE jobs SET chore = 1
WHERE lane IN (SELECT id FROM lanes WHERE workload GLOB 'redrive.*')
   OR (state IN ('queued', 'processing')
       AND EXISTS (SELECT 1 FROM payloads p JOIN lanes l ON l.id = jobs.lane
                   WHERE p.job = jobs.id AND p.label = l.workload AND p.input = x'6E756C6C'));

CREATE INDEX jobs_chore ON jobs (chore) WHERE chore = 1;
