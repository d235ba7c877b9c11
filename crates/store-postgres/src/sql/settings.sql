SELECT key, value, updated_by, updated_at FROM redrive.settings WHERE starts_with(key, $1) ORDER BY key COLLATE "C"
