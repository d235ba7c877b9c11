DELETE FROM redrive.deliveries WHERE key IN (
    SELECT key FROM redrive.deliveries WHERE at < $1 AND state <> 'waiting' ORDER BY at LIMIT $2
)
