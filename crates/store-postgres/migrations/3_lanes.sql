-- Lanes are removed when they have no job left. Whoever still remembers such a lane and enqueues into it counts the job there, and is
-- refused here: it asks for the lane again. A count that is there already is only changed, which costs nothing more.

ALTER TABLE redrive.tallies ADD CONSTRAINT tallies_lane_is_there FOREIGN KEY (lane) REFERENCES redrive.lanes (id);
