INSERT INTO audit (at, actor, action, subject, reason) VALUES (?1, ?2, ?3, ?4, ?5) RETURNING number
