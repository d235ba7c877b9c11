DELETE FROM redrive.lane_targets WHERE lane = ANY ($1::int4[])
