-- An attempt that only its job's row tells gets a row of its own.
WITH input AS MATERIALIZED (SELECT * FROM unnest($1::uuid[], $2::int8[], $3::text[]) AS i (id, token, late)),
own AS (
    INSERT INTO redrive.attempts (job, token, number, generation, worker, started_at, ended_at, outcome, rule, policy, late)
    SELECT j.id, j.lease_token, j.attempt, j.generation, j.leased_by, j.leased_at, j.finished_at, 'complete',
           coalesce(j.rule, 'handler_completed'), j.policy, i.late
    FROM input i JOIN redrive.jobs j ON j.id = i.id AND j.lease_token = i.token AND j.state = 'complete' AND j.leased_by IS NOT NULL
    ON CONFLICT (job, token) DO NOTHING
)
UPDATE redrive.attempts a SET late = i.late
FROM input i WHERE a.job = i.id AND a.token = i.token AND a.late IS NULL
