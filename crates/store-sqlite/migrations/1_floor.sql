-- The floor: every table of epoch 1. Times are UTC milliseconds, ids are 16-byte UUIDs.

-- A lane is what the claim admits or leaves alone as a whole: jobs of one workload, one set of targets, one priority,
-- running among others or alone. Rows are interned; one without jobs may be removed.
CREATE TABLE lanes (
    id       INTEGER PRIMARY KEY,
    workload TEXT    NOT NULL,
    targets  TEXT    NOT NULL,
    priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 9),
    alone    INTEGER NOT NULL CHECK (alone IN (0, 1)),
    UNIQUE (workload, targets, priority, alone)
) STRICT;

CREATE TABLE lane_targets (
    lane   INTEGER NOT NULL REFERENCES lanes (id),
    target TEXT    NOT NULL,
    PRIMARY KEY (lane, target)
) STRICT, WITHOUT ROWID;

CREATE INDEX lane_targets_by_target ON lane_targets (target);

CREATE TABLE jobs (
    id               BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    lane             INTEGER NOT NULL,
    owner            TEXT,
    state            TEXT    NOT NULL,
    due_at           INTEGER NOT NULL,
    lease_token      INTEGER NOT NULL DEFAULT 0,
    leased_by        BLOB,
    leased_at        INTEGER,
    lease_expires_at INTEGER,
    probe            INTEGER NOT NULL DEFAULT 0,
    attempt          INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    max_attempts     INTEGER CHECK (max_attempts > 0),
    generation       INTEGER NOT NULL DEFAULT 1,
    crashes          INTEGER NOT NULL DEFAULT 0,
    releases         INTEGER NOT NULL DEFAULT 0,
    spent            TEXT,
    batch_id         BLOB,
    awaits_batch     BLOB,
    replay_id        BLOB,
    dedupe           BLOB    CHECK (length(dedupe) = 32),
    failure_code     TEXT,
    failure_message  TEXT,
    result           TEXT,
    created_at       INTEGER NOT NULL,
    queued_at        INTEGER NOT NULL,
    started_at       INTEGER,
    finished_at      INTEGER,
    expired_at       INTEGER,
    purge_at         INTEGER,
    -- The last attempt of a complete job is told by its own row, so that a plain success writes two rows instead of three:
    -- leased_by and leased_at stay, rule is NULL for handler_completed.
    rule             TEXT,
    policy           TEXT,
    -- Where its first and its complete event are; events_job knows the others.
    queued_event     INTEGER,
    complete_event   INTEGER,
    -- The shape of a row in each state: a lease that ends exactly when processing, a failure exactly when failed, a result only when
    -- complete (and then, unless it has expired), an end exactly when ended, attempts within the cap unless failed. One CASE,
    -- because it is evaluated at every write.
    CONSTRAINT row_shape CHECK (CASE state
        WHEN 'queued' THEN
            leased_by IS NULL AND leased_at IS NULL AND lease_expires_at IS NULL AND probe = 0
            AND failure_code IS NULL AND failure_message IS NULL AND result IS NULL AND finished_at IS NULL
            AND (max_attempts IS NULL OR attempt < max_attempts)
        WHEN 'processing' THEN
            leased_by IS NOT NULL AND leased_at IS NOT NULL AND lease_expires_at IS NOT NULL
            AND failure_code IS NULL AND failure_message IS NULL AND result IS NULL AND finished_at IS NULL
            AND awaits_batch IS NULL AND (max_attempts IS NULL OR attempt <= max_attempts)
        WHEN 'complete' THEN
            (leased_by IS NULL) = (leased_at IS NULL) AND lease_expires_at IS NULL AND probe = 0
            AND failure_code IS NULL AND failure_message IS NULL AND finished_at IS NOT NULL
            AND (result IS NOT NULL OR expired_at IS NOT NULL)
            AND awaits_batch IS NULL AND (max_attempts IS NULL OR attempt <= max_attempts)
        WHEN 'failed' THEN
            leased_by IS NULL AND leased_at IS NULL AND lease_expires_at IS NULL AND probe = 0
            AND failure_code IS NOT NULL AND failure_message IS NOT NULL AND result IS NULL AND finished_at IS NOT NULL
            AND awaits_batch IS NULL
        WHEN 'cancelled' THEN
            leased_by IS NULL AND leased_at IS NULL AND lease_expires_at IS NULL AND probe = 0
            AND failure_code IS NULL AND failure_message IS NULL AND result IS NULL AND finished_at IS NOT NULL
            AND awaits_batch IS NULL AND (max_attempts IS NULL OR attempt <= max_attempts)
        ELSE 0
    END)
) STRICT, WITHOUT ROWID;

CREATE INDEX jobs_ready ON jobs (lane, due_at) WHERE state = 'queued';
CREATE INDEX jobs_leased ON jobs (leased_by) WHERE state = 'processing';
CREATE INDEX jobs_stopped ON jobs (state) WHERE state IN ('failed', 'cancelled');
CREATE INDEX jobs_owner ON jobs (owner) WHERE owner IS NOT NULL;
CREATE INDEX jobs_batch ON jobs (batch_id) WHERE batch_id IS NOT NULL;
CREATE INDEX jobs_replay ON jobs (replay_id) WHERE replay_id IS NOT NULL;
CREATE INDEX jobs_awaits ON jobs (awaits_batch) WHERE awaits_batch IS NOT NULL;
CREATE UNIQUE INDEX jobs_dedupe ON jobs (dedupe)
    WHERE dedupe IS NOT NULL AND expired_at IS NULL AND state IN ('queued', 'processing', 'complete');

CREATE TABLE payloads (
    job   BLOB NOT NULL PRIMARY KEY,
    label TEXT,
    input BLOB NOT NULL,
    state BLOB,
    progress TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE attempts (
    job           BLOB    NOT NULL,
    token         INTEGER NOT NULL,
    number        INTEGER NOT NULL,
    generation    INTEGER NOT NULL,
    worker        BLOB,
    started_at    INTEGER,
    ended_at      INTEGER NOT NULL,
    outcome       TEXT    NOT NULL,
    code          TEXT,
    message       TEXT,
    context       TEXT,
    target_status INTEGER,
    rule          TEXT,
    policy        TEXT,
    late          TEXT,
    PRIMARY KEY (job, token)
) STRICT, WITHOUT ROWID;

-- One row per transition. A row that ends an attempt carries the attempt's start in started_at and stands for two
-- events: readers number them 2·seq − 1 (processing) and 2·seq.
CREATE TABLE events (
    seq           INTEGER PRIMARY KEY,
    job           BLOB,
    batch_id      BLOB,
    kind          TEXT    NOT NULL,
    at            INTEGER NOT NULL,
    started_at    INTEGER,
    generation    INTEGER NOT NULL DEFAULT 0,
    attempt       INTEGER NOT NULL DEFAULT 0,
    target_status INTEGER,
    code          TEXT,
    topic         TEXT,
    payload       BLOB
) STRICT;

-- Most events are the first and the complete one of a job, which its row points to.
CREATE INDEX events_job ON events (job)
    WHERE job IS NOT NULL AND kind <> 'complete' AND (kind <> 'queued' OR generation > 1 OR started_at IS NOT NULL);

CREATE TABLE dead_letters (
    seq         INTEGER PRIMARY KEY,
    job         BLOB    NOT NULL,
    generation  INTEGER NOT NULL,
    reason      TEXT    NOT NULL,
    code        TEXT    NOT NULL,
    message     TEXT    NOT NULL,
    attempts    INTEGER NOT NULL,
    fingerprint TEXT    NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('open', 'replayed', 'discarded')),
    at          INTEGER NOT NULL,
    closed_at   INTEGER,
    replay_id   BLOB,
    previous    INTEGER,
    CONSTRAINT closed_exactly_when_not_open CHECK ((closed_at IS NULL) = (state = 'open'))
) STRICT;

CREATE UNIQUE INDEX dead_letters_open ON dead_letters (job) WHERE state = 'open';
CREATE INDEX dead_letters_job ON dead_letters (job);
CREATE INDEX dead_letters_group ON dead_letters (fingerprint) WHERE state = 'open';

CREATE TABLE failure_groups (
    fingerprint TEXT    NOT NULL PRIMARY KEY,
    workload    TEXT    NOT NULL,
    code        TEXT    NOT NULL,
    target      TEXT,
    message     TEXT    NOT NULL,
    sample      BLOB    NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('new', 'acknowledged', 'resolved', 'regressed')),
    first_seen  INTEGER NOT NULL,
    last_seen   INTEGER NOT NULL,
    failures    INTEGER NOT NULL,
    open        INTEGER NOT NULL CHECK (open >= 0)
) STRICT, WITHOUT ROWID;

CREATE INDEX failure_groups_seen ON failure_groups (last_seen);

CREATE TABLE batches (
    id                   BLOB    NOT NULL PRIMARY KEY,
    workload             TEXT    NOT NULL,
    owner                TEXT,
    label                TEXT,
    state                TEXT    NOT NULL CHECK (state IN ('processing', 'complete', 'partial', 'failed', 'cancelled')),
    sealed               INTEGER NOT NULL DEFAULT 0,
    total                INTEGER NOT NULL DEFAULT 0,
    ok                   INTEGER NOT NULL DEFAULT 0,
    failed               INTEGER NOT NULL DEFAULT 0,
    hard                 INTEGER NOT NULL DEFAULT 0,
    cancelled            INTEGER NOT NULL DEFAULT 0,
    end_rule             TEXT    NOT NULL CHECK (end_rule IN ('strict', 'tolerant')),
    last_failure_code    TEXT,
    last_failure_message TEXT,
    last_failure_at      INTEGER,
    dead_offset          INTEGER,
    keep_ms              INTEGER,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    finished_at          INTEGER,
    purge_at             INTEGER,
    CONSTRAINT counters_within_total
        CHECK (ok >= 0 AND failed >= 0 AND cancelled >= 0 AND hard BETWEEN 0 AND failed AND ok + failed + cancelled <= total),
    CONSTRAINT batch_ended_when_counted
        CHECK (state = 'processing' OR (sealed = 1 AND ok + failed + cancelled = total)),
    CONSTRAINT batch_finished_exactly_when_ended CHECK ((finished_at IS NOT NULL) = (state <> 'processing'))
) STRICT, WITHOUT ROWID;

CREATE TABLE breakers (
    target        TEXT    NOT NULL PRIMARY KEY,
    version       INTEGER NOT NULL,
    machine       TEXT    NOT NULL,
    blocked_until INTEGER,
    admits        INTEGER,
    probe         BLOB,
    updated_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX breakers_gate ON breakers (blocked_until) WHERE blocked_until IS NOT NULL OR admits IS NOT NULL;

CREATE TABLE workers (
    id          BLOB    NOT NULL PRIMARY KEY,
    name        TEXT    NOT NULL,
    build       TEXT    NOT NULL,
    draining    INTEGER NOT NULL,
    concurrency INTEGER NOT NULL,
    started_at  INTEGER NOT NULL,
    seen_at     INTEGER NOT NULL,
    alive_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
    owner        TEXT    NOT NULL,
    key          TEXT    NOT NULL,
    request_hash BLOB    NOT NULL,
    reply        TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE settings (
    key        TEXT    NOT NULL PRIMARY KEY,
    value      TEXT    NOT NULL,
    updated_by TEXT    NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The key is the SHA-256 of a secret that is written nowhere.
CREATE TABLE sessions (
    key        BLOB    NOT NULL PRIMARY KEY CHECK (length(key) = 32),
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    actor   TEXT    NOT NULL,
    action  TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    reason  TEXT,
    outcome TEXT
) STRICT;

-- Exact counts per lane: `live` is queued and processing together, so that a claim changes none of them.
CREATE TABLE tallies (
    lane INTEGER NOT NULL,
    kind TEXT    NOT NULL CHECK (kind IN ('live', 'complete', 'failed', 'cancelled')),
    n    INTEGER NOT NULL,
    PRIMARY KEY (lane, kind)
) STRICT, WITHOUT ROWID;
