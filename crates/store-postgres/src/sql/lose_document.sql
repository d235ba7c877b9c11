UPDATE redrive.documents SET stage = 'gone', updated_at = redrive.now_ms() WHERE id = $1
