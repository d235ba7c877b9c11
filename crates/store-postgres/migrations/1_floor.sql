-- The floor: every table of epoch 1. Times are UTC milliseconds. `redrive` stands for the configured schema.

-- The only clock that decides anything. Tests replace it.
CREATE FUNCTION redrive.now_ms() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE
    AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

-- A lane is what the claim admits or leaves alone as a whole: jobs of one workload, one set of targets, one priority,
-- running among others or alone. Rows are interned; one without jobs may be removed.
CREATE TABLE redrive.lanes (
    id       integer  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workload text     NOT NULL,
    targets  text     NOT NULL,
    priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 9),
    alone    boolean  NOT NULL,
    UNIQUE (workload, targets, priority, alone)
);

CREATE TABLE redrive.lane_targets (
    lane   integer NOT NULL REFERENCES redrive.lanes (id),
    target text    NOT NULL,
    PRIMARY KEY (lane, target)
);

CREATE INDEX lane_targets_by_target ON redrive.lane_targets (target);

-- Narrow and hot. No index holds a column that extending a lease changes, so a heartbeat touches no index at all.
CREATE TABLE redrive.jobs (
    id               uuid     NOT NULL PRIMARY KEY,
    lane             integer  NOT NULL,
    attempt          integer  NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    due_at           bigint   NOT NULL,
    lease_token      bigint   NOT NULL DEFAULT 0,
    leased_at        bigint,
    lease_expires_at bigint,
    created_at       bigint   NOT NULL,
    queued_at        bigint   NOT NULL,
    started_at       bigint,
    finished_at      bigint,
    expired_at       bigint,
    purge_at         bigint,
    max_attempts     integer  CHECK (max_attempts > 0),
    generation       integer  NOT NULL DEFAULT 1,
    crashes          integer  NOT NULL DEFAULT 0,
    releases         integer  NOT NULL DEFAULT 0,
    probe            boolean  NOT NULL DEFAULT false,
    leased_by        uuid,
    batch_id         uuid,
    awaits_batch     uuid,
    replay_id        uuid,
    state            text     NOT NULL,
    owner            text,
    spent            text,
    dedupe           bytea    CHECK (length(dedupe) = 32),
    failure_code     text,
    failure_message  text,
    result           text,
    -- The last attempt of a complete job is told by its own row, so that a plain success writes two rows instead of three:
    -- leased_by and leased_at stay, rule is NULL for handler_completed.
    rule             text,
    policy           text,
    -- Where its first and its complete event are; events_job knows the others.
    queued_event     bigint,
    complete_event   bigint,
    -- The shape of a row in each state: a lease that ends exactly when processing, a failure exactly when failed, a result only when
    -- complete (and then, unless it has expired), an end exactly when ended, attempts within the cap unless failed. One CASE,
    -- because it is evaluated at every write.
    CONSTRAINT row_shape CHECK (CASE state
        WHEN 'queued' THEN
            leased_by IS NULL AND leased_at IS NULL AND lease_expires_at IS NULL AND NOT probe
            AND failure_code IS NULL AND failure_message IS NULL AND result IS NULL AND finished_at IS NULL
            AND (max_attempts IS NULL OR attempt < max_attempts)
        WHEN 'processing' THEN
            leased_by IS NOT NULL AND leased_at IS NOT NULL AND lease_expires_at IS NOT NULL
            AND failure_code IS NULL AND failure_message IS NULL AND result IS NULL AND finished_at IS NULL
            AND awaits_batch IS NULL AND (max_attempts IS NULL OR attempt <= max_attempts)
        WHEN 'complete' THEN
            (leased_by IS NULL) = (leased_at IS NULL) AND lease_expires_at IS NULL AND NOT probe
            AND failure_code IS NULL AND failure_message IS NULL AND finished_at IS NOT NULL
            AND (result IS NOT NULL OR expired_at IS NOT NULL)
            AND awaits_batch IS NULL AND (max_attempts IS NULL OR attempt <= max_attempts)
        WHEN 'failed' THEN
            leased_by IS NULL AND leased_at IS NULL AND lease_expires_at IS NULL AND NOT probe
            AND failure_code IS NOT NULL AND failure_message IS NOT NULL AND result IS NULL AND finished_at IS NOT NULL
            AND awaits_batch IS NULL
        WHEN 'cancelled' THEN
            leased_by IS NULL AND leased_at IS NULL AND lease_expires_at IS NULL AND NOT probe
            AND failure_code IS NULL AND failure_message IS NULL AND result IS NULL AND finished_at IS NOT NULL
            AND awaits_batch IS NULL AND (max_attempts IS NULL OR attempt <= max_attempts)
        ELSE false
    END)
) WITH (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05,
        autovacuum_vacuum_cost_delay = 0);

CREATE INDEX jobs_ready ON redrive.jobs (lane, due_at, id) WHERE state = 'queued';
CREATE INDEX jobs_leased ON redrive.jobs (leased_by) WHERE state = 'processing';
CREATE INDEX jobs_stopped ON redrive.jobs (state, id) WHERE state IN ('failed', 'cancelled');
CREATE INDEX jobs_owner ON redrive.jobs (owner, id) WHERE owner IS NOT NULL;
CREATE INDEX jobs_batch ON redrive.jobs (batch_id, id) WHERE batch_id IS NOT NULL;
CREATE INDEX jobs_replay ON redrive.jobs (replay_id) WHERE replay_id IS NOT NULL;
CREATE INDEX jobs_awaits ON redrive.jobs (awaits_batch) WHERE awaits_batch IS NOT NULL;
CREATE UNIQUE INDEX jobs_dedupe ON redrive.jobs (dedupe)
    WHERE dedupe IS NOT NULL AND expired_at IS NULL AND state IN ('queued', 'processing', 'complete');

CREATE TABLE redrive.payloads (
    job   uuid NOT NULL PRIMARY KEY,
    label text,
    input bytea NOT NULL,
    state bytea,
    progress text
);

CREATE TABLE redrive.attempts (
    job           uuid    NOT NULL,
    token         bigint  NOT NULL,
    number        integer NOT NULL,
    generation    integer NOT NULL,
    started_at    bigint,
    ended_at      bigint  NOT NULL,
    target_status integer,
    worker        uuid,
    outcome       text    NOT NULL,
    code          text,
    message       text,
    context       text,
    rule          text,
    policy        text,
    late          text,
    PRIMARY KEY (job, token)
);

-- One row per transition. A row that ends an attempt carries the attempt's start in started_at and stands for two
-- events: readers number them 2·seq − 1 (processing) and 2·seq.
CREATE TABLE redrive.events (
    seq           bigint  GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    at            bigint  NOT NULL,
    started_at    bigint,
    generation    integer NOT NULL DEFAULT 0,
    attempt       integer NOT NULL DEFAULT 0,
    target_status integer,
    job           uuid,
    batch_id      uuid,
    kind          text    NOT NULL,
    code          text,
    topic         text,
    payload       bytea
);

-- Most events are the first and the complete one of a job, which its row points to.
CREATE INDEX events_job ON redrive.events (job, seq)
    WHERE job IS NOT NULL AND kind <> 'complete' AND (kind <> 'queued' OR generation > 1 OR started_at IS NOT NULL);

CREATE TABLE redrive.dead_letters (
    seq         bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job         uuid    NOT NULL,
    generation  integer NOT NULL,
    attempts    integer NOT NULL,
    at          bigint  NOT NULL,
    closed_at   bigint,
    previous    bigint,
    replay_id   uuid,
    reason      text    NOT NULL,
    code        text    NOT NULL,
    message     text    NOT NULL,
    fingerprint text    NOT NULL,
    state       text    NOT NULL CHECK (state IN ('open', 'replayed', 'discarded')),
    CONSTRAINT closed_exactly_when_not_open CHECK ((closed_at IS NULL) = (state = 'open'))
);

CREATE UNIQUE INDEX dead_letters_open ON redrive.dead_letters (job) WHERE state = 'open';
CREATE INDEX dead_letters_job ON redrive.dead_letters (job);
CREATE INDEX dead_letters_group ON redrive.dead_letters (fingerprint, seq) WHERE state = 'open';

CREATE TABLE redrive.failure_groups (
    fingerprint text   NOT NULL PRIMARY KEY,
    workload    text   NOT NULL,
    code        text   NOT NULL,
    target      text,
    message     text   NOT NULL,
    sample      uuid   NOT NULL,
    state       text   NOT NULL CHECK (state IN ('new', 'acknowledged', 'resolved', 'regressed')),
    first_seen  bigint NOT NULL,
    last_seen   bigint NOT NULL,
    failures    bigint NOT NULL,
    open        bigint NOT NULL CHECK (open >= 0)
) WITH (fillfactor = 50);

CREATE TABLE redrive.batches (
    id                   uuid    NOT NULL PRIMARY KEY,
    workload             text    NOT NULL,
    owner                text,
    label                text,
    state                text    NOT NULL CHECK (state IN ('processing', 'complete', 'partial', 'failed', 'cancelled')),
    sealed               boolean NOT NULL DEFAULT false,
    total                bigint  NOT NULL DEFAULT 0,
    ok                   bigint  NOT NULL DEFAULT 0,
    failed               bigint  NOT NULL DEFAULT 0,
    hard                 bigint  NOT NULL DEFAULT 0,
    cancelled            bigint  NOT NULL DEFAULT 0,
    end_rule             text    NOT NULL CHECK (end_rule IN ('strict', 'tolerant')),
    last_failure_code    text,
    last_failure_message text,
    last_failure_at      bigint,
    dead_offset          bigint,
    keep_ms              bigint,
    created_at           bigint  NOT NULL,
    updated_at           bigint  NOT NULL,
    finished_at          bigint,
    purge_at             bigint,
    CONSTRAINT counters_within_total
        CHECK (ok >= 0 AND failed >= 0 AND cancelled >= 0 AND hard BETWEEN 0 AND failed AND ok + failed + cancelled <= total),
    CONSTRAINT batch_ended_when_counted CHECK (state = 'processing' OR (sealed AND ok + failed + cancelled = total)),
    CONSTRAINT batch_finished_exactly_when_ended CHECK ((finished_at IS NOT NULL) = (state <> 'processing'))
) WITH (fillfactor = 50);

CREATE TABLE redrive.breakers (
    target        text   NOT NULL PRIMARY KEY,
    version       bigint NOT NULL,
    machine       text   NOT NULL,
    blocked_until bigint,
    admits        integer,
    probe         uuid,
    updated_at    bigint NOT NULL
) WITH (fillfactor = 50);

CREATE INDEX breakers_gate ON redrive.breakers (blocked_until) WHERE blocked_until IS NOT NULL OR admits IS NOT NULL;

CREATE TABLE redrive.workers (
    id          uuid    NOT NULL PRIMARY KEY,
    name        text    NOT NULL,
    build       text    NOT NULL,
    draining    boolean NOT NULL,
    concurrency integer NOT NULL,
    started_at  bigint  NOT NULL,
    seen_at     bigint  NOT NULL,
    alive_until bigint  NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE redrive.idempotency (
    owner        text   NOT NULL,
    key          text   NOT NULL,
    request_hash bytea  NOT NULL,
    reply        text   NOT NULL,
    created_at   bigint NOT NULL,
    PRIMARY KEY (owner, key)
);

CREATE TABLE redrive.settings (
    key        text   NOT NULL PRIMARY KEY,
    value      text   NOT NULL,
    updated_by text   NOT NULL,
    updated_at bigint NOT NULL
);

-- The key is the SHA-256 of a secret that is written nowhere.
CREATE TABLE redrive.sessions (
    key        bytea  NOT NULL PRIMARY KEY CHECK (length(key) = 32),
    created_at bigint NOT NULL,
    seen_at    bigint NOT NULL
);

CREATE TABLE redrive.audit (
    number  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      bigint NOT NULL,
    actor   text   NOT NULL,
    action  text   NOT NULL,
    subject text   NOT NULL,
    reason  text,
    outcome text
);

-- Exact counts per lane. `created` counts rows that exist, the others how many of them ended how; what is left waits or
-- runs. Each connection has a shard of its own, so that nobody waits for a counter.
CREATE TABLE redrive.tallies (
    lane  integer  NOT NULL,
    kind  text     NOT NULL CHECK (kind IN ('created', 'complete', 'failed', 'cancelled')),
    shard smallint NOT NULL,
    n     bigint   NOT NULL,
    PRIMARY KEY (lane, kind, shard)
) WITH (fillfactor = 25, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
