UPDATE jobs
SET state = 'queued', lane = ?2, due_at = ?3, queued_at = ?3, generation = generation + 1, attempt = 0, crashes = 0,
    releases = 0, spent = NULL, started_at = NULL, finished_at = NULL, purge_at = NULL, failure_code = NULL,
    failure_message = NULL, replay_id = ?4
WHERE id = ?1
