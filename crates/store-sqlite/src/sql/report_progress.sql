UPDATE payloads SET progress = ?3
WHERE job = ?1
  AND EXISTS (SELECT 1 FROM jobs WHERE id = ?1 AND state = 'processing' AND lease_token = ?2)
