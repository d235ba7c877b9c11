DELETE FROM lanes WHERE id = ?1
