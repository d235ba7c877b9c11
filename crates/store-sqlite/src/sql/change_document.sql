UPDATE documents
SET stage = coalesce(?3, stage), version = coalesce(?4, version), bytes = coalesce(?5, bytes), sha256 = coalesce(?6, sha256),
    retries = coalesce(?7, retries), exceeded = coalesce(?8, exceeded), failure_code = coalesce(?9, failure_code),
    failure_message = coalesce(?10, failure_message), report = coalesce(?11, report), updated_at = ?12
WHERE id = ?1 AND run <= ?2
