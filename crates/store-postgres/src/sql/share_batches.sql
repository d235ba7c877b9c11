SELECT id FROM redrive.batches WHERE id = ANY ($1::uuid[]) AND state = 'processing' ORDER BY id FOR SHARE
