DELETE FROM lane_targets WHERE lane = ?1
