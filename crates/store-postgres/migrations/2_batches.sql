-- Batches are listed, weighed and told apart by what went wrong in them, and when.

ALTER TABLE redrive.batches ADD COLUMN about text, ADD COLUMN bytes bigint NOT NULL DEFAULT 0;

CREATE INDEX batches_newest ON redrive.batches (workload, created_at, id);
CREATE INDEX batches_owner ON redrive.batches (owner, workload, created_at, id);

-- What failed in a large batch is found without walking over what did not.
CREATE INDEX jobs_batch_failed ON redrive.jobs (batch_id, id) WHERE state = 'failed' AND batch_id IS NOT NULL;

CREATE TABLE redrive.batch_failures (
    batch_id uuid   NOT NULL REFERENCES redrive.batches (id) ON DELETE CASCADE,
    minute   bigint NOT NULL,
    code     text   NOT NULL,
    jobs     bigint NOT NULL CHECK (jobs >= 0),
    PRIMARY KEY (batch_id, minute, code)
);

INSERT INTO redrive.batch_failures (batch_id, minute, code, jobs)
SELECT j.batch_id, j.finished_at / 60000 * 60000, j.failure_code, count(*)
FROM redrive.jobs j JOIN redrive.batches b ON b.id = j.batch_id
WHERE j.state = 'failed' GROUP BY 1, 2, 3;
