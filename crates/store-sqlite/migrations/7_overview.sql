-- What happened by minute, made from the events; and what breakers did.

CREATE TABLE minutes (
    minute   INTEGER NOT NULL,
    workload TEXT    NOT NULL,
    kind     TEXT    NOT NULL,
    code     TEXT    NOT NULL,
    took_ms  INTEGER NOT NULL,
    jobs     INTEGER NOT NULL CHECK (jobs > 0),
    PRIMARY KEY (minute, workload, kind, code, took_ms)
) STRICT, WITHOUT ROWID;

CREATE TABLE breaker_turns (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    target TEXT    NOT NULL,
    at     INTEGER NOT NULL,
    deed   TEXT    NOT NULL,
    why    TEXT,
    actor  TEXT
) STRICT;

CREATE INDEX breaker_turns_target ON breaker_turns (target, number);
CREATE INDEX breaker_turns_at ON breaker_turns (at);
