-- Makes the lanes for running alone that these jobs are about to need.
WITH wanted AS (
    SELECT DISTINCT l.workload, l.targets, l.priority FROM redrive.jobs j JOIN redrive.lanes l ON l.id = j.lane
    WHERE j.id = ANY ($1::uuid[])
), made AS (
    INSERT INTO redrive.lanes (workload, targets, priority, alone)
    SELECT workload, targets, priority, true FROM wanted
    ON CONFLICT (workload, targets, priority, alone) DO NOTHING
    RETURNING id, targets
)
INSERT INTO redrive.lane_targets (lane, target)
SELECT made.id, t.target FROM made CROSS JOIN LATERAL unnest(string_to_array(made.targets, ',')) AS t (target)
WHERE made.targets <> ''
ON CONFLICT DO NOTHING
