SELECT id, workload, targets, priority, alone FROM redrive.lanes WHERE id = ANY ($1::int4[])
