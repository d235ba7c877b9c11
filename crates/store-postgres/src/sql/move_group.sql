UPDATE redrive.failure_groups SET state = $2 WHERE fingerprint = $1
