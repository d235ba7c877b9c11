-- Jobs that are in no batch are listed without walking over the members of all batches.

CREATE INDEX jobs_single ON redrive.jobs (id) WHERE batch_id IS NULL;
CREATE INDEX jobs_single_stopped ON redrive.jobs (state, id) WHERE state IN ('failed', 'cancelled') AND batch_id IS NULL;
