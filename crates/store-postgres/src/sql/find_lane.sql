SELECT id FROM redrive.lanes WHERE workload = $1 AND targets = $2 AND priority = $3 AND alone = $4
