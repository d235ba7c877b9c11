SELECT id, root, path, place, version, bytes, sha256, owner, stage, run, retries, exceeded, failure_code, failure_message, report, told,
       created_at, updated_at
FROM documents WHERE id = ?1
