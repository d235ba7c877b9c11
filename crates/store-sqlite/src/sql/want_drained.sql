UPDATE workers SET drain_wanted = ?2 WHERE id = ?1
