-- What happened by minute, made from the events; and what breakers did.

CREATE TABLE redrive.minutes (
    minute   bigint NOT NULL,
    workload text   NOT NULL,
    kind     text   NOT NULL,
    code     text   NOT NULL,
    took_ms  bigint NOT NULL,
    jobs     bigint NOT NULL CHECK (jobs > 0),
    PRIMARY KEY (minute, workload, kind, code, took_ms)
);

CREATE TABLE redrive.breaker_turns (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    target text   NOT NULL,
    at     bigint NOT NULL,
    deed   text   NOT NULL,
    why    text,
    actor  text
);

CREATE INDEX breaker_turns_target ON redrive.breaker_turns (target, number);
CREATE INDEX breaker_turns_at ON redrive.breaker_turns (at);
