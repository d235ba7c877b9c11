-- Nobody begins to count in these lanes.
SELECT id FROM redrive.lanes WHERE id = ANY ($1::int4[]) ORDER BY id FOR UPDATE
