INSERT INTO jobs (id, lane, owner, state, due_at, max_attempts, batch_id, dedupe, failure_code, failure_message,
                  created_at, queued_at, finished_at, purge_at, queued_event, chore)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11, ?12, ?13, ?14, ?15)
ON CONFLICT (id) DO NOTHING
