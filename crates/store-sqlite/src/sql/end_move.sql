UPDATE moves SET state = ?2, note = ?3, ended_at = ?4 WHERE number = ?1 AND state = 'open' RETURNING document, target
