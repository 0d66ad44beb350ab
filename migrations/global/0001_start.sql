-- Accounts, identities, the registry of constellations and the map from places to them.

CREATE TABLE users (
    id TEXT PRIMARY KEY,
    username TEXT UNIQUE NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

-- One person on several platforms: rows with the same user_id, each proven from its own side.
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

-- Which constellation a guild, channel, direct conversation or account belongs to. What is not here belongs to the default.
CREATE TABLE places (
    id TEXT PRIMARY KEY,         -- 'discord:<channel>', 'discord:guild:<id>', 'discord:user:<id>'
    constellation_id TEXT NOT NULL REFERENCES constellations(id),
    bound_by TEXT NOT NULL,      -- person id, or 'configuration'
    created_at TEXT NOT NULL
) STRICT;

-- Positions of a whole source (a Bluesky account, say). A place's own position is in its constellation.
CREATE TABLE cursors (
    source TEXT PRIMARY KEY,
    position TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;
