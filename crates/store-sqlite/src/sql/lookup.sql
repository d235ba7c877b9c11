SELECT lane, state, lease_token, leased_by, leased_at, lease_expires_at, attempt, generation, batch_id, failure_code, dedupe,
       expired_at, finished_at
FROM jobs WHERE id = ?1
