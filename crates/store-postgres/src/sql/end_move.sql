UPDATE redrive.moves SET state = $2, note = $3, ended_at = redrive.now_ms() WHERE number = $1 AND state = 'open' RETURNING document, target
