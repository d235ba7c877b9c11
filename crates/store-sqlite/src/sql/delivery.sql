SELECT key, owner, address, state, tries, error, documents, at FROM deliveries WHERE key = ?1
