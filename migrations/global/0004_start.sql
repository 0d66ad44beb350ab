-- The schema that the first data folders have: accounts, constellations, privacy choices.

CREATE TABLE users (
    id TEXT PRIMARY KEY,
    username TEXT UNIQUE NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE user_identities (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users(id),
    provider TEXT NOT NULL,      -- 'discord', 'atproto', 'terminal'
    provider_id TEXT NOT NULL,
    created_at TEXT NOT NULL,
    UNIQUE (provider, provider_id)
) STRICT;

CREATE TABLE constellations (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL REFERENCES users(id),
    name TEXT UNIQUE NOT NULL,
    db_path TEXT NOT NULL,       -- relative to the data folder
    created_at TEXT NOT NULL,
    last_accessed_at TEXT NOT NULL
) STRICT;

CREATE TABLE places (
    id TEXT PRIMARY KEY,         -- 'discord:<channel>', 'discord:guild:<id>', 'discord:user:<id>'
    constellation_id TEXT NOT NULL REFERENCES constellations(id),
    bound_by TEXT NOT NULL,      -- person id, or 'configuration'
    created_at TEXT NOT NULL
) STRICT;

CREATE TABLE cursors (
    source TEXT PRIMARY KEY,
    position TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE privacy_choices (
    person_id TEXT PRIMARY KEY,
    choice TEXT NOT NULL CHECK (choice IN ('paused', 'opted_out')),
    since TEXT NOT NULL
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

CREATE TABLE link_codes (
    person_id TEXT PRIMARY KEY,        -- to whom it was told
    code TEXT UNIQUE NOT NULL,
    other_id TEXT,                     -- the only one who can say it; NULL: anybody, it is a first code
    expires_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE job_wakes (
    constellation_id TEXT PRIMARY KEY REFERENCES constellations(id),
    next_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX job_wakes_due ON job_wakes (next_at);

