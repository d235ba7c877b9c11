DELETE FROM redrive.breakers b USING unnest($1::text[], $2::int8[]) AS i (target, version)
WHERE b.target = i.target AND b.version = i.version
