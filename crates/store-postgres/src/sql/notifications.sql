SELECT owner, address, enabled FROM redrive.notifications ORDER BY owner, address
