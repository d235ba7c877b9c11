SELECT owner, address, enabled FROM notifications ORDER BY owner, address
