-- Runs after the batches were locked and changed: its snapshot is new, so it sees everybody who began to wait before.
WITH ended AS MATERIALIZED (SELECT unnest($1::uuid[]) AS id),
event AS (
    INSERT INTO redrive.events (batch_id, kind, at) SELECT id, 'batch_ended', $2 FROM ended
)
UPDATE redrive.jobs j SET awaits_batch = NULL, due_at = $2
FROM ended WHERE j.awaits_batch = ended.id AND j.awaits_batch IS NOT NULL
