INSERT INTO redrive.deliveries (key, owner, address, state, tries, error, documents, at) VALUES ($1, $2, $3, $4, $5, $6, $7, redrive.now_ms())
ON CONFLICT (key) DO UPDATE
SET address = excluded.address, state = excluded.state, tries = excluded.tries, error = excluded.error,
    documents = excluded.documents, at = excluded.at
