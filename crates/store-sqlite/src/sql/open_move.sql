SELECT number, document, source, version, target, why, meta, state, note, began_at, ended_at FROM moves WHERE document = ?1 AND state = 'open'
