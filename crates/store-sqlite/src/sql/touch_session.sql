UPDATE sessions SET seen_at = max(seen_at, ?2) WHERE key = ?1
