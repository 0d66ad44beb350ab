-- Steps that bring a file of Carina 0.1.0 to the version of the start beside this file, each section one. Never change one.
-- ------------------------------------------------------------------------------------------------------- 0005_web_keys
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
-- -------------------------------------------------------------------------------------------------- 0006_former_places
-- To whom places belonged before: edits and deletions of what was said then still follow it there.

CREATE TABLE former_places (
    place_id TEXT NOT NULL,
    constellation_id TEXT NOT NULL REFERENCES constellations(id),
    PRIMARY KEY (place_id, constellation_id)
) STRICT, WITHOUT ROWID;
-- ------------------------------------------------------------------------------------------------- 0007_keys_of_people
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
-- -------------------------------------------------------------------------------------------------- 0008_ended_choices
-- When people wanted nothing kept, after that is over: what they said then is not taken from a platform's history later.

CREATE TABLE ended_privacy_choices (
    person_id TEXT NOT NULL,
    since TEXT NOT NULL,
    until TEXT NOT NULL,
    PRIMARY KEY (person_id, since)
) STRICT, WITHOUT ROWID;
-- --------------------------------------------------------------------------------------------------- 0009_web_requests
-- What programs asked for under a key of their own, so that the same request, sent again, is not done again.
CREATE TABLE web_requests (
    key_id TEXT NOT NULL,              -- of web_keys: who asked
    given BLOB NOT NULL,               -- BLAKE2b-256 of the key that they gave the request
    request BLOB NOT NULL,             -- BLAKE2b-256 of what they asked for
    at TEXT NOT NULL,
    done INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (key_id, given)
) STRICT, WITHOUT ROWID;
-- ---------------------------------------------------------------------------------------------- 0010_web_requests_done
-- That a request was answered follows from its answer, which is kept in memory.
ALTER TABLE web_requests DROP COLUMN done;
-- ------------------------------------------------------------------------------------------------------ 0011_job_wakes
-- When each constellation has to be looked at is kept in memory: every start reads it from their files anyway.
DROP TABLE job_wakes;
