-- An attempt that only its job's row tells moves to a row of its own.
WITH input AS MATERIALIZED (SELECT * FROM unnest($1::uuid[], $2::int8[], $3::text[]) AS i (id, token, late)),
own AS MATERIALIZED (
    SELECT j.id, j.lease_token, j.attempt, j.generation, j.leased_by, j.leased_at, j.finished_at, j.rule, j.policy, i.late
    FROM input i JOIN redrive.jobs j ON j.id = i.id AND j.lease_token = i.token AND j.state = 'complete' AND j.leased_by IS NOT NULL
    FOR UPDATE OF j
),
moved AS (
    UPDATE redrive.jobs j SET leased_by = NULL, leased_at = NULL FROM own WHERE j.id = own.id
),
written AS (
    INSERT INTO redrive.attempts (job, token, number, generation, worker, started_at, ended_at, outcome, rule, policy, late)
    SELECT id, lease_token, attempt, generation, leased_by, leased_at, finished_at, 'complete',
           coalesce(rule, 'handler_completed'), policy, late
    FROM own
    ON CONFLICT (job, token) DO NOTHING
)
UPDATE redrive.attempts a SET late = i.late
FROM input i WHERE a.job = i.id AND a.token = i.token AND a.late IS NULL
