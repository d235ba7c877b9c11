-- Nobody counts on in these lanes.
SELECT lane FROM redrive.tallies WHERE lane = ANY ($1::int4[]) ORDER BY lane, kind, shard FOR UPDATE
