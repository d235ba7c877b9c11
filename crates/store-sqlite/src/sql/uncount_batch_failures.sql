UPDATE batch_failures SET jobs = jobs + ?4 WHERE batch_id = ?1 AND minute = ?2 AND code = ?3
