UPDATE redrive.documents SET place = $2, version = $3, updated_at = redrive.now_ms() WHERE id = $1
