DELETE FROM redrive.minutes WHERE minute < redrive.now_ms() - $1
