UPDATE redrive.failure_records SET notified = true WHERE document = $1 AND at <= $2 AND NOT notified
