-- What agents are told of that nobody says to them: feeds, calendars, folders. A job looks at each (`source:<id>`).
CREATE TABLE data_sources (
    id TEXT PRIMARY KEY,
    name TEXT UNIQUE NOT NULL COLLATE NOCASE,
    source_type TEXT NOT NULL CHECK (source_type IN ('feed', 'calendar', 'folder')),
    address TEXT NOT NULL,             -- a URL, or a folder with its links resolved
    every_minutes INTEGER NOT NULL,
    enabled INTEGER NOT NULL DEFAULT 1,
    last_sync_at TEXT,                 -- when it was last read whole; NULL: what it has at first is not news
    failures INTEGER NOT NULL DEFAULT 0, -- in a row
    last_error TEXT NOT NULL DEFAULT '',
    audience TEXT NOT NULL,            -- who may hear what it says
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

-- Where each source stands: what was seen, and how it looked.
CREATE TABLE data_source_items (
    source_id TEXT NOT NULL REFERENCES data_sources(id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    mark TEXT NOT NULL,
    seen_at TEXT NOT NULL,
    PRIMARY KEY (source_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE agent_data_sources (
    agent_id TEXT NOT NULL REFERENCES agents(id),
    source_id TEXT NOT NULL REFERENCES data_sources(id) ON DELETE CASCADE,
    notification_template TEXT NOT NULL DEFAULT '', -- '': the usual one
    created_at TEXT NOT NULL,
    PRIMARY KEY (agent_id, source_id)
) STRICT, WITHOUT ROWID;
