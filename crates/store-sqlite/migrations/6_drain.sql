-- Somebody wants a worker to take no new work. It reads this with its heartbeat; the wish goes with the worker's row.

ALTER TABLE workers ADD COLUMN drain_wanted INTEGER NOT NULL DEFAULT 0;
