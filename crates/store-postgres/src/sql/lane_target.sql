INSERT INTO redrive.lane_targets (lane, target) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING
