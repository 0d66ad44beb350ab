-- Keys of people other than the owner, which open their own page alone; and tokens that speak to one agent alone.
ALTER TABLE web_keys RENAME TO former_web_keys;
DROP INDEX web_keys_token;
CREATE TABLE web_keys (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('code', 'session', 'token')),
    digest BLOB UNIQUE NOT NULL,       -- BLAKE2b-256 of the secret
    name TEXT NOT NULL DEFAULT '',     -- of a token; of a session, the browser that it belongs to
    scope TEXT NOT NULL CHECK (scope IN ('own', 'chat', 'read', 'admin')),
    person_id TEXT,                    -- whose page it opens
    agent_id TEXT,                     -- the only one that it speaks to
    created_at TEXT NOT NULL,
    expires_at TEXT,                   -- NULL: until it is revoked
    used_at TEXT,                      -- when it was used last, to the hour
    CHECK ((scope = 'own') = (person_id IS NOT NULL)),
    CHECK (agent_id IS NULL OR kind = 'token')
) STRICT, WITHOUT ROWID;
INSERT INTO web_keys (id, kind, digest, name, scope, created_at, expires_at, used_at)
    SELECT id, kind, digest, name, scope, created_at, expires_at, used_at FROM former_web_keys;
DROP TABLE former_web_keys;
CREATE UNIQUE INDEX web_keys_token ON web_keys (name) WHERE kind = 'token';
CREATE INDEX web_keys_person ON web_keys (person_id) WHERE person_id IS NOT NULL;
