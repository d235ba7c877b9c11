SELECT 1 FROM jobs j WHERE id = ?1 AND state = 'complete' AND leased_by IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.job = j.id AND a.token = j.lease_token)
