UPDATE redrive.jobs SET due_at = greatest($2, redrive.now_ms()) WHERE id = ANY ($1::uuid[]) AND state = 'queued' AND awaits_batch IS NULL
