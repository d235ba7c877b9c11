-- Documents of intake, their moves, what failed of them, and who is told.

CREATE TABLE redrive.documents (
    id              uuid    PRIMARY KEY,
    root            text    NOT NULL,
    path            text    NOT NULL,
    place           text    NOT NULL,
    version         text    NOT NULL,
    bytes           bigint  NOT NULL CHECK (bytes >= 0),
    sha256          text,
    owner           text    NOT NULL,
    stage           text    NOT NULL CHECK (stage IN ('waiting', 'processing', 'done', 'failed', 'gone')),
    run             bigint  NOT NULL DEFAULT 0,
    retries         bigint  NOT NULL DEFAULT 0 CHECK (retries >= 0),
    exceeded        boolean NOT NULL DEFAULT false,
    failure_code    text,
    failure_message text,
    report          text,
    told            text    CHECK (told IN ('failing', 'dead', 'recovered')),
    created_at      bigint  NOT NULL,
    updated_at      bigint  NOT NULL,
    CHECK ((failure_code IS NULL) = (failure_message IS NULL))
);

-- One document at a time waits or runs at a key.
CREATE UNIQUE INDEX documents_live ON redrive.documents (root, place) WHERE stage IN ('waiting', 'processing');
CREATE INDEX documents_stage ON redrive.documents (root, stage, id);
CREATE INDEX documents_ended ON redrive.documents (updated_at) WHERE stage IN ('done', 'failed', 'gone');
CREATE INDEX documents_recovered ON redrive.documents (owner) WHERE stage = 'done' AND told IN ('failing', 'dead');

CREATE TABLE redrive.moves (
    number   bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document uuid    NOT NULL REFERENCES redrive.documents (id) ON DELETE CASCADE,
    source   text    NOT NULL,
    version  text    NOT NULL,
    target   text    NOT NULL,
    why      text    NOT NULL,
    meta     text,
    state    text    NOT NULL CHECK (state IN ('open', 'done', 'lost')),
    note     text,
    began_at bigint  NOT NULL,
    ended_at bigint,
    CHECK ((state = 'open') = (ended_at IS NULL))
);

CREATE UNIQUE INDEX moves_open ON redrive.moves (document) WHERE state = 'open';
CREATE INDEX moves_document ON redrive.moves (document, number);

CREATE TABLE redrive.failure_records (
    failure_id     uuid    PRIMARY KEY,
    document       uuid    NOT NULL,
    at             bigint  NOT NULL,
    owner          text    NOT NULL,
    pdf_key        text    NOT NULL,
    queue_key      text,
    failed_key     text,
    retry_count    bigint  NOT NULL CHECK (retry_count >= 0),
    exceeded       boolean NOT NULL,
    code           text    NOT NULL,
    failure_reason text    NOT NULL,
    notified       boolean NOT NULL
);

CREATE INDEX failure_records_at ON redrive.failure_records (at, failure_id);
CREATE INDEX failure_records_document ON redrive.failure_records (document, at);
CREATE INDEX failure_records_untold ON redrive.failure_records (owner, document) WHERE NOT notified;

CREATE TABLE redrive.deliveries (
    key       text    PRIMARY KEY,
    owner     text    NOT NULL,
    address   text    NOT NULL,
    state     text    NOT NULL CHECK (state IN ('sent', 'written', 'waiting', 'failed')),
    tries     bigint  NOT NULL CHECK (tries >= 0),
    error     text,
    documents bigint  NOT NULL CHECK (documents >= 0),
    at        bigint  NOT NULL
);

CREATE INDEX deliveries_at ON redrive.deliveries (at, key);

CREATE TABLE redrive.notifications (
    owner   text    NOT NULL,
    address text    NOT NULL,
    enabled boolean NOT NULL,
    PRIMARY KEY (owner, address)
);
