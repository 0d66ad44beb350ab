-- Ways into the dashboard and the API: one-time codes, sessions of browsers, tokens of programs. Only digests are kept.
CREATE TABLE web_keys (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('code', 'session', 'token')),
    digest BLOB UNIQUE NOT NULL,       -- BLAKE2b-256 of the secret
    name TEXT NOT NULL DEFAULT '',     -- of a token; of a session, the browser that it belongs to
    scope TEXT NOT NULL CHECK (scope IN ('chat', 'read', 'admin')),
    created_at TEXT NOT NULL,
    expires_at TEXT,                   -- NULL: until it is revoked
    used_at TEXT                       -- when it was used last, to the hour
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX web_keys_token ON web_keys (name) WHERE kind = 'token';
