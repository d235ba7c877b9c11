DELETE FROM batches
WHERE purge_at <= ?1 AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.batch_id = batches.id AND j.batch_id IS NOT NULL)
