-- Operators' tokens. The hash is the SHA-256 of a token that is written nowhere; the id is its beginning. A row stays when a token is taken
-- back, so that the audit trail can be read.
CREATE TABLE tokens (
    id         TEXT    NOT NULL PRIMARY KEY CHECK (length(id) = 12),
    name       TEXT    NOT NULL,
    scope      TEXT    NOT NULL CHECK (scope IN ('read', 'act', 'admin')),
    hash       BLOB    NOT NULL CHECK (length(hash) = 32),
    made_at    INTEGER NOT NULL,
    made_by    TEXT    NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    used_at    INTEGER
) STRICT, WITHOUT ROWID;

-- The token that a browser has signed in with, where it was one of these: its session goes with it.
ALTER TABLE sessions ADD COLUMN token TEXT;
CREATE INDEX sessions_token ON sessions (token) WHERE token IS NOT NULL;
