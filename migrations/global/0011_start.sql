-- The tables of global.db, by topic, each with its indexes. New files begin with this one.

-- ----------------------------------------------------------------------------------------- Accounts and constellations

CREATE TABLE users (
    id TEXT PRIMARY KEY,
    username TEXT UNIQUE NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE user_identities (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users(id),
    provider TEXT NOT NULL,            -- 'discord', 'atproto', 'terminal'
    provider_id TEXT NOT NULL,
    created_at TEXT NOT NULL,
    UNIQUE (provider, provider_id)
) STRICT;

CREATE TABLE link_codes (
    person_id TEXT PRIMARY KEY,        -- to whom it was told
    code TEXT UNIQUE NOT NULL,
    other_id TEXT,                     -- the only one who can say it; NULL: anybody, it is a first code
    expires_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE constellations (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL REFERENCES users(id),
    name TEXT UNIQUE NOT NULL,
    db_path TEXT NOT NULL,             -- relative to the data folder
    created_at TEXT NOT NULL,
    last_accessed_at TEXT NOT NULL
) STRICT;

-- -------------------------------------------------------------------------------------------------- Places and sources

CREATE TABLE places (
    id TEXT PRIMARY KEY,               -- 'discord:<channel>', 'discord:guild:<id>', 'discord:user:<id>'
    constellation_id TEXT NOT NULL REFERENCES constellations(id),
    bound_by TEXT NOT NULL,            -- person id, or 'configuration'
    created_at TEXT NOT NULL
) STRICT;

-- To whom places belonged before: edits and deletions of what was said then still follow it there.
CREATE TABLE former_places (
    place_id TEXT NOT NULL,
    constellation_id TEXT NOT NULL REFERENCES constellations(id),
    PRIMARY KEY (place_id, constellation_id)
) STRICT, WITHOUT ROWID;

-- How far each source was read.
CREATE TABLE cursors (
    source TEXT PRIMARY KEY,
    position TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

-- ------------------------------------------------------------------------------------------------------------- Privacy

CREATE TABLE privacy_choices (
    person_id TEXT PRIMARY KEY,
    choice TEXT NOT NULL CHECK (choice IN ('paused', 'opted_out')),
    since TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- When people wanted nothing kept, after that is over: what they said then is not taken from a platform's history
-- later.
CREATE TABLE ended_privacy_choices (
    person_id TEXT NOT NULL,
    since TEXT NOT NULL,
    until TEXT NOT NULL,
    PRIMARY KEY (person_id, since)
) STRICT, WITHOUT ROWID;

CREATE TABLE erasures (
    id INTEGER PRIMARY KEY,            -- snowflake
    person_id TEXT NOT NULL,
    asked_by TEXT NOT NULL,            -- the person, or the owner
    status TEXT NOT NULL CHECK (status IN ('begun', 'done')),
    begun_at TEXT NOT NULL,
    done_at TEXT,
    receipt TEXT NOT NULL DEFAULT '{}' -- JSON
) STRICT;
CREATE UNIQUE INDEX erasures_begun ON erasures (person_id) WHERE status = 'begun';
CREATE INDEX erasures_person ON erasures (person_id, id);

-- ----------------------------------------------------------------------------------------------------------------- Web

-- Ways into the dashboard and the API: one-time codes, sessions of browsers, tokens of programs. Only digests are kept.
-- Keys of people other than the owner open their own page alone.
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
CREATE UNIQUE INDEX web_keys_token ON web_keys (name) WHERE kind = 'token';
CREATE INDEX web_keys_person ON web_keys (person_id) WHERE person_id IS NOT NULL;

-- What programs asked for under a key of their own, so that the same request, sent again, is not done again.
CREATE TABLE web_requests (
    key_id TEXT NOT NULL,              -- of web_keys: who asked
    given BLOB NOT NULL,               -- BLAKE2b-256 of the key that they gave the request
    request BLOB NOT NULL,             -- BLAKE2b-256 of what they asked for
    at TEXT NOT NULL,
    PRIMARY KEY (key_id, given)
) STRICT, WITHOUT ROWID;
