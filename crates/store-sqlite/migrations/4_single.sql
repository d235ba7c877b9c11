-- Jobs that are in no batch are listed without walking over the members of all batches.

-- It is looked for by the column that is always NULL, so that the planner knows it to be a search and not a scan of everything.
CREATE INDEX jobs_single ON jobs (batch_id) WHERE batch_id IS NULL;
CREATE INDEX jobs_single_stopped ON jobs (state) WHERE state IN ('failed', 'cancelled') AND batch_id IS NULL;
