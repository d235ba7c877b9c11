SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM redrive.events_seq_seq
