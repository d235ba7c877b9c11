DELETE FROM workers WHERE alive_until < ?1
  AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.state = 'processing' AND j.leased_by = workers.id)
