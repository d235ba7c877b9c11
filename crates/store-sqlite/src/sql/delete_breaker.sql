DELETE FROM breakers WHERE target = ?1 AND version = ?2
