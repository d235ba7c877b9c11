SELECT failure_id, document, at, owner, pdf_key, queue_key, failed_key, retry_count, exceeded, code, failure_reason, notified
FROM redrive.failure_records
WHERE ($1::int8 IS NULL OR (at, failure_id) < ($1, $2)) AND ($3::uuid IS NULL OR document = $3) AND ($4::text IS NULL OR owner = $4)
  AND ($5::text IS NULL OR code = $5) AND ($6::int8 IS NULL OR at >= $6) AND ($7::int8 IS NULL OR at < $7) AND ($8::bool IS NULL OR notified = $8)
  AND ($9::text IS NULL OR strpos(lower(pdf_key || ' ' || failure_reason), $9) > 0)
ORDER BY at DESC, failure_id DESC LIMIT $10
