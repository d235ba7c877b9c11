-- Operators' tokens. The hash is the SHA-256 of a token that is written nowhere; the id is its beginning. A row stays when a token is taken
-- back, so that the audit trail can be read.
CREATE TABLE redrive.tokens (
    id         text   NOT NULL PRIMARY KEY CHECK (length(id) = 12),
    name       text   NOT NULL,
    scope      text   NOT NULL CHECK (scope IN ('read', 'act', 'admin')),
    hash       bytea  NOT NULL CHECK (length(hash) = 32),
    made_at    bigint NOT NULL,
    made_by    text   NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    used_at    bigint
);

-- The token that a browser has signed in with, where it was one of these: its session goes with it.
ALTER TABLE redrive.sessions ADD COLUMN token text;
CREATE INDEX sessions_token ON redrive.sessions (token) WHERE token IS NOT NULL;
