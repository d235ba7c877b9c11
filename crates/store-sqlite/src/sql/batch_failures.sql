SELECT minute, code, jobs FROM batch_failures WHERE batch_id = ?1 AND jobs > 0 ORDER BY minute, code
