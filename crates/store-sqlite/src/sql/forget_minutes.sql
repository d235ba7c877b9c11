DELETE FROM minutes WHERE minute < ?1
