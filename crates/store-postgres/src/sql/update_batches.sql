UPDATE redrive.batches b
SET state = i.state, sealed = i.sealed, total = i.total, ok = i.ok, failed = i.failed, hard = i.hard, cancelled = i.cancelled,
    updated_at = i.now, finished_at = i.finished_at, purge_at = i.purge_at,
    last_failure_code = coalesce(i.code, b.last_failure_code),
    last_failure_message = coalesce(i.message, b.last_failure_message),
    last_failure_at = CASE WHEN i.code IS NULL THEN b.last_failure_at ELSE i.now END,
    dead_offset = coalesce(i.dead_offset, b.dead_offset),
    bytes = b.bytes + i.bytes
FROM unnest($1::uuid[], $2::text[], $3::bool[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::int8[],
            $10::int8[], $11::int8[], $12::text[], $13::text[], $14::int8[], $15::int8[])
    AS i (id, state, sealed, total, ok, failed, hard, cancelled, now, finished_at, purge_at, code, message, dead_offset, bytes)
WHERE b.id = i.id
