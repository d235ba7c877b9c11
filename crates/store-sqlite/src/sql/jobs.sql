-- {scan} picks a bounded number of ids, newest first, by the most selective index; the filters then look at those.
-- What people see is the same law as `shown` in the model; the conformance suite compares them.
WITH scan AS MATERIALIZED ({scan}),
rows AS (
    SELECT j.id, l.workload, j.owner, p.label, j.state, l.targets, l.priority, l.alone, j.due_at, j.lease_token, iif(j.state = 'processing', j.leased_by, NULL) AS leased_by,
           j.lease_expires_at, j.attempt, j.max_attempts, j.generation, j.crashes, j.releases, j.batch_id, j.awaits_batch,
           j.replay_id, j.failure_code, j.failure_message, j.result, j.created_at, j.queued_at, j.started_at, j.finished_at,
           j.expired_at, j.purge_at,
           EXISTS (SELECT 1 FROM lane_targets t JOIN breakers b ON b.target = t.target
                   WHERE t.lane = j.lane AND b.blocked_until > :now) AS held, p.progress,
           :target IS NULL OR EXISTS (SELECT 1 FROM lane_targets t WHERE t.lane = j.lane AND t.target = :target) AS aimed
    FROM scan JOIN jobs j ON j.id = scan.id JOIN lanes l ON l.id = j.lane LEFT JOIN payloads p ON p.job = j.id
)
SELECT rows.*, (SELECT min(id) FROM scan), (SELECT count(*) FROM scan)
FROM rows
WHERE (:workload IS NULL OR workload = :workload)
  AND (:owner IS NULL OR owner = :owner)
  AND (:batch IS NULL OR batch_id = :batch)
  AND (NOT :single OR batch_id IS NULL)
  AND (:replay IS NULL OR replay_id = :replay)
  AND aimed
  AND (:worker IS NULL OR leased_by = :worker)
  AND (:since IS NULL OR created_at >= :since)
  AND (:ended_since IS NULL OR finished_at >= :ended_since)
  AND (:codes IS NULL OR failure_code IN (SELECT value FROM json_each(:codes)))
  AND (:text IS NULL OR instr(lower(coalesce(label, '')), lower(:text)) > 0
       OR lower(hex(id)) = replace(lower(:text), '-', ''))
  AND (:shown IS NULL OR CASE
         WHEN state <> 'queued' THEN state
         WHEN awaits_batch IS NOT NULL THEN 'waiting_batch'
         WHEN held THEN 'held'
         WHEN due_at > :now AND (attempt > 0 OR started_at IS NOT NULL) THEN 'waiting_retry'
         WHEN due_at > :now THEN 'scheduled'
         ELSE 'queued'
       END IN (SELECT value FROM json_each(:shown)))
ORDER BY id DESC LIMIT :limit
