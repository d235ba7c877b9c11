DELETE FROM redrive.notifications WHERE owner = $1 AND address = $2
