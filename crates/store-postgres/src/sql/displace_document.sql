-- What the row says of another document at this key is no longer so.
UPDATE redrive.documents SET stage = 'gone', updated_at = redrive.now_ms()
WHERE root = (SELECT root FROM redrive.documents WHERE id = $1) AND place = $2 AND id <> $1 AND stage IN ('waiting', 'processing')
