SELECT key, owner, address, state, tries, error, documents, at FROM redrive.deliveries WHERE key = $1
