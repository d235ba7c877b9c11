SELECT purge_at FROM batches WHERE id = ?1
