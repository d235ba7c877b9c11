SELECT coalesce(max(seq), 0) FROM events
