SELECT number, document, source, version, target, why, meta, state, note, began_at, ended_at FROM redrive.moves WHERE number = $1
