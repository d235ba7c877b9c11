UPDATE redrive.audit SET outcome = $2 WHERE number = $1
