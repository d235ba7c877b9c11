SELECT key, owner, address, state, tries, error, documents, at FROM redrive.deliveries
WHERE $1::int8 IS NULL OR (at, key) < ($1, $2) ORDER BY at DESC, key DESC LIMIT $3
