UPDATE failure_groups SET open = open - 1 WHERE fingerprint = ?1 AND open > 0
