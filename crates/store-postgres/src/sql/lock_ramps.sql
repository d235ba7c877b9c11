-- Targets that let only so many pass at once: locked, so that two claims do not both use the same room.
SELECT b.target, b.admits FROM redrive.breakers b
WHERE b.admits IS NOT NULL AND coalesce(b.blocked_until, 0) <= redrive.now_ms()
ORDER BY b.target FOR UPDATE
