-- Documents of intake, their moves, what failed of them, and who is told.

CREATE TABLE documents (
    id              BLOB    PRIMARY KEY,
    root            TEXT    NOT NULL,
    path            TEXT    NOT NULL,
    place           TEXT    NOT NULL,
    version         TEXT    NOT NULL,
    bytes           INTEGER NOT NULL CHECK (bytes >= 0),
    sha256          TEXT,
    owner           TEXT    NOT NULL,
    stage           TEXT    NOT NULL CHECK (stage IN ('waiting', 'processing', 'done', 'failed', 'gone')),
    run             INTEGER NOT NULL DEFAULT 0,
    retries         INTEGER NOT NULL DEFAULT 0 CHECK (retries >= 0),
    exceeded        INTEGER NOT NULL DEFAULT 0 CHECK (exceeded IN (0, 1)),
    failure_code    TEXT,
    failure_message TEXT,
    report          TEXT,
    told            TEXT    CHECK (told IN ('failing', 'dead', 'recovered')),
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    CHECK ((failure_code IS NULL) = (failure_message IS NULL))
) STRICT, WITHOUT ROWID;

-- One document at a time waits or runs at a key.
CREATE UNIQUE INDEX documents_live ON documents (root, place) WHERE stage IN ('waiting', 'processing');
CREATE INDEX documents_stage ON documents (root, stage, id);
CREATE INDEX documents_ended ON documents (updated_at) WHERE stage IN ('done', 'failed', 'gone');
CREATE INDEX documents_recovered ON documents (owner) WHERE stage = 'done' AND told IN ('failing', 'dead');

CREATE TABLE moves (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    document BLOB    NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    source   TEXT    NOT NULL,
    version  TEXT    NOT NULL,
    target   TEXT    NOT NULL,
    why      TEXT    NOT NULL,
    meta     TEXT,
    state    TEXT    NOT NULL CHECK (state IN ('open', 'done', 'lost')),
    note     TEXT,
    began_at INTEGER NOT NULL,
    ended_at INTEGER,
    CHECK ((state = 'open') = (ended_at IS NULL))
) STRICT;

CREATE UNIQUE INDEX moves_open ON moves (document) WHERE state = 'open';
CREATE INDEX moves_document ON moves (document, number);

CREATE TABLE failure_records (
    failure_id     BLOB    PRIMARY KEY,
    document       BLOB    NOT NULL,
    at             INTEGER NOT NULL,
    owner          TEXT    NOT NULL,
    pdf_key        TEXT    NOT NULL,
    queue_key      TEXT,
    failed_key     TEXT,
    retry_count    INTEGER NOT NULL CHECK (retry_count >= 0),
    exceeded       INTEGER NOT NULL CHECK (exceeded IN (0, 1)),
    code           TEXT    NOT NULL,
    failure_reason TEXT    NOT NULL,
    notified       INTEGER NOT NULL CHECK (notified IN (0, 1))
) STRICT;

CREATE INDEX failure_records_at ON failure_records (at, failure_id);
CREATE INDEX failure_records_document ON failure_records (document, at);
CREATE INDEX failure_records_untold ON failure_records (owner, document) WHERE notified = 0;

CREATE TABLE deliveries (
    key       TEXT    PRIMARY KEY,
    owner     TEXT    NOT NULL,
    address   TEXT    NOT NULL,
    state     TEXT    NOT NULL CHECK (state IN ('sent', 'written', 'waiting', 'failed')),
    tries     INTEGER NOT NULL CHECK (tries >= 0),
    error     TEXT,
    documents INTEGER NOT NULL CHECK (documents >= 0),
    at        INTEGER NOT NULL
) STRICT;

CREATE INDEX deliveries_at ON deliveries (at, key);

CREATE TABLE notifications (
    owner   TEXT    NOT NULL,
    address TEXT    NOT NULL,
    enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    PRIMARY KEY (owner, address)
) STRICT, WITHOUT ROWID;
