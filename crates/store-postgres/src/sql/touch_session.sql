UPDATE redrive.sessions SET seen_at = greatest(seen_at, redrive.now_ms()) WHERE key = $1
