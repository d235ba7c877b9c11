UPDATE tokens SET used_at = max(coalesce(used_at, 0), ?2) WHERE id = ?1
