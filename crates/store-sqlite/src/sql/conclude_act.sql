UPDATE audit SET outcome = ?2, before = ?3, after = ?4 WHERE number = ?1 AND outcome IS NULL
