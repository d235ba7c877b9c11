DELETE FROM redrive.tallies WHERE lane = ANY ($1::int4[])
