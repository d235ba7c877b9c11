-- What the row says of another document at this key is no longer so.
UPDATE documents SET stage = 'gone', updated_at = ?3
WHERE root = (SELECT root FROM documents WHERE id = ?1) AND place = ?2 AND id <> ?1 AND stage IN ('waiting', 'processing')
