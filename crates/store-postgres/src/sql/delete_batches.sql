DELETE FROM redrive.batches b
WHERE b.purge_at <= redrive.now_ms()
  AND NOT EXISTS (SELECT 1 FROM redrive.jobs j WHERE j.batch_id = b.id AND j.batch_id IS NOT NULL)
