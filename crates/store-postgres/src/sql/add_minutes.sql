INSERT INTO redrive.minutes AS m (minute, workload, kind, code, took_ms, jobs)
SELECT * FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::int8[], $6::int8[])
ON CONFLICT (minute, workload, kind, code, took_ms) DO UPDATE SET jobs = m.jobs + excluded.jobs
