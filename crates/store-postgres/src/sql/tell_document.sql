UPDATE redrive.documents SET told = $2 WHERE id = $1
