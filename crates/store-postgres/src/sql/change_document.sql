UPDATE redrive.documents
SET stage = coalesce($3::text, stage), version = coalesce($4::text, version), bytes = coalesce($5::int8, bytes), sha256 = coalesce($6::text, sha256),
    retries = coalesce($7::int8, retries), exceeded = coalesce($8::bool, exceeded), failure_code = coalesce($9::text, failure_code),
    failure_message = coalesce($10::text, failure_message), report = coalesce($11::text, report), updated_at = redrive.now_ms()
WHERE id = $1 AND run <= $2
