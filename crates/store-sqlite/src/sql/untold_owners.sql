SELECT owner FROM failure_records WHERE notified = 0
UNION SELECT owner FROM documents WHERE stage = 'done' AND told IN ('failing', 'dead')
ORDER BY owner
