INSERT INTO moves (document, source, version, target, why, meta, state, began_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'open', ?7)
RETURNING number, document, source, version, target, why, meta, state, note, began_at, ended_at
