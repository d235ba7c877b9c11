DELETE FROM notifications WHERE owner = ?1 AND address = ?2
