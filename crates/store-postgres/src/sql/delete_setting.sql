DELETE FROM redrive.settings WHERE key = $1
