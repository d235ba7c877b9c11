DELETE FROM redrive.lanes WHERE id = ANY ($1::int4[])
