-- Batches are listed, weighed and told apart by what went wrong in them, and when.

ALTER TABLE batches ADD COLUMN about TEXT;
ALTER TABLE batches ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;

CREATE INDEX batches_newest ON batches (workload, created_at, id);
CREATE INDEX batches_owner ON batches (owner, workload, created_at, id);

-- What failed in a large batch is found without walking over what did not.
CREATE INDEX jobs_batch_failed ON jobs (batch_id) WHERE state = 'failed' AND batch_id IS NOT NULL;

CREATE TABLE batch_failures (
    batch_id BLOB    NOT NULL,
    minute   INTEGER NOT NULL,
    code     TEXT    NOT NULL,
    jobs     INTEGER NOT NULL CHECK (jobs >= 0),
    PRIMARY KEY (batch_id, minute, code)
) STRICT, WITHOUT ROWID;

INSERT INTO batch_failures (batch_id, minute, code, jobs)
SELECT batch_id, finished_at / 60000 * 60000, failure_code, count(*) FROM jobs
WHERE batch_id IS NOT NULL AND state = 'failed' GROUP BY 1, 2, 3;

CREATE TRIGGER batch_forgotten AFTER DELETE ON batches
BEGIN
    DELETE FROM batch_failures WHERE batch_id = OLD.id;
END;
