-- What became of a replay's jobs is told by the dead letters that it took: they stay its own, whoever starts the jobs again.
CREATE INDEX dead_letters_replay ON dead_letters (replay_id) WHERE replay_id IS NOT NULL;
