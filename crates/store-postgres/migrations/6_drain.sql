-- Somebody wants a worker to take no new work. It reads this with its heartbeat; the wish goes with the worker's row.

ALTER TABLE redrive.workers ADD COLUMN IF NOT EXISTS drain_wanted boolean NOT NULL DEFAULT false;
