SELECT state FROM failure_groups WHERE fingerprint = ?1
