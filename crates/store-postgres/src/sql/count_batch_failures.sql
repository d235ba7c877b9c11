INSERT INTO redrive.batch_failures AS f (batch_id, minute, code, jobs)
SELECT * FROM unnest($1::uuid[], $2::int8[], $3::text[], $4::int8[])
ON CONFLICT (batch_id, minute, code) DO UPDATE SET jobs = f.jobs + excluded.jobs
