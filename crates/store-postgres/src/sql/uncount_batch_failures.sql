UPDATE redrive.batch_failures f SET jobs = f.jobs + i.jobs
FROM unnest($1::uuid[], $2::int8[], $3::text[], $4::int8[]) AS i (batch_id, minute, code, jobs)
WHERE f.batch_id = i.batch_id AND f.minute = i.minute AND f.code = i.code
