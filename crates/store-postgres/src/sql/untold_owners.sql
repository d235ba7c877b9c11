SELECT owner FROM redrive.failure_records WHERE NOT notified
UNION SELECT owner FROM redrive.documents WHERE stage = 'done' AND told IN ('failing', 'dead')
ORDER BY owner
