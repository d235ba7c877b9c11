INSERT INTO failure_records (failure_id, document, at, owner, pdf_key, queue_key, failed_key, retry_count, exceeded, code, failure_reason, notified)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT DO NOTHING
