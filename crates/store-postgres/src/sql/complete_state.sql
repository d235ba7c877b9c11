UPDATE redrive.payloads p SET state = i.state
FROM unnest($1::uuid[], $2::bytea[]) AS i (id, state) WHERE p.job = i.id
