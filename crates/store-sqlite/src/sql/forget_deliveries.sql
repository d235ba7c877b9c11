DELETE FROM deliveries WHERE key IN (
    SELECT key FROM deliveries WHERE at < ?1 AND state <> 'waiting' ORDER BY at LIMIT ?2
)
