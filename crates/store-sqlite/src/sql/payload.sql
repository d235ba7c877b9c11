SELECT p.input, p.state FROM payloads p WHERE p.job = ?1
