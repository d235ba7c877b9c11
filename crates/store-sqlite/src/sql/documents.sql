SELECT id, root, path, place, version, bytes, sha256, owner, stage, run, retries, exceeded, failure_code, failure_message, report, told,
       created_at, updated_at
FROM documents
WHERE root = ?1 AND stage = ?2 AND (?3 IS NULL OR id < ?3) AND (?4 IS NULL OR owner = ?4)
  AND (?5 IS NULL OR instr(lower(path), ?5) > 0)
ORDER BY id DESC LIMIT ?6
