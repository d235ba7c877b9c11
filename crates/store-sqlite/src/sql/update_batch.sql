UPDATE batches
SET state = ?2, sealed = ?3, total = ?4, ok = ?5, failed = ?6, hard = ?7, cancelled = ?8, updated_at = ?9,
    finished_at = ?10, purge_at = ?11,
    last_failure_code = coalesce(?12, last_failure_code), last_failure_message = coalesce(?13, last_failure_message),
    last_failure_at = iif(?12 IS NULL, last_failure_at, ?9), dead_offset = coalesce(?14, dead_offset),
    bytes = bytes + ?15
WHERE id = ?1
