INSERT INTO redrive.lanes (workload, targets, priority, alone) VALUES ($1, $2, $3, $4)
ON CONFLICT (workload, targets, priority, alone) DO NOTHING
RETURNING id
