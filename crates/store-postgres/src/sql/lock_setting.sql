SELECT value FROM redrive.settings WHERE key = $1 FOR UPDATE SKIP LOCKED
