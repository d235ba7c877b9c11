DELETE FROM redrive.sessions WHERE key = $1
