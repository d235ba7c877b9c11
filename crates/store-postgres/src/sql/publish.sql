-- The transaction's id first, then the numbers: the reader's horizon relies on that order.
WITH id AS MATERIALIZED (SELECT pg_current_xact_id() AS id)
INSERT INTO redrive.events (kind, at, topic, payload)
SELECT 'published', redrive.now_ms(), i.topic, i.payload
FROM id, unnest($1::text[], $2::bytea[]) AS i (topic, payload) WHERE id.id IS NOT NULL
