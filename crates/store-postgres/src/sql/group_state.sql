SELECT state FROM redrive.failure_groups WHERE fingerprint = $1 FOR UPDATE
