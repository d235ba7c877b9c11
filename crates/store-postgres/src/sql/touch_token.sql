UPDATE redrive.tokens SET used_at = greatest(used_at, redrive.now_ms()) WHERE id = $1
