UPDATE failure_records SET notified = 1 WHERE document = ?1 AND at <= ?2 AND notified = 0
