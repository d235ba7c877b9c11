DELETE FROM tallies WHERE lane = ?1
