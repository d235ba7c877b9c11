-- {scan} picks a bounded number of lines, newest first; the filters then look at those.
WITH scan AS MATERIALIZED ({scan})
SELECT a.number, a.at, a.actor, a.action, a.subject, a.reason, a.outcome, a.scope, a.request_id, a.before, a.after,
       (SELECT min(number) FROM scan), (SELECT count(*) FROM scan)
FROM scan JOIN audit a ON a.number = scan.number
WHERE (:actor IS NULL OR instr(lower(a.actor), lower(:actor)) > 0)
  AND (:action IS NULL OR substr(a.action, 1, length(:action)) = :action)
  AND (:subject IS NULL OR instr(lower(a.subject), lower(:subject)) > 0)
  AND (:since IS NULL OR a.at >= :since)
  AND (:request IS NULL OR a.request_id = :request)
ORDER BY a.number DESC LIMIT :limit
