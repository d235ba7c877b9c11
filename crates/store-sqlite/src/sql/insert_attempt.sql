INSERT INTO attempts (job, token, number, generation, worker, started_at, ended_at, outcome, code, message, context,
                      target_status, rule, policy)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
