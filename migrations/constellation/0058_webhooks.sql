-- Webhooks are sources, too. Nothing asks them on schedule.
CREATE TABLE new_data_sources (
    id TEXT PRIMARY KEY,
    name TEXT UNIQUE NOT NULL COLLATE NOCASE,
    source_type TEXT NOT NULL CHECK (source_type IN ('feed', 'calendar', 'folder', 'webhook')),
    address TEXT NOT NULL,             -- a URL; a folder with its links resolved; the secret of a webhook's signatures,
                                       -- '' for one of carina.toml, whose secret is in the environment
    every_minutes INTEGER NOT NULL,    -- 0 for webhooks
    enabled INTEGER NOT NULL DEFAULT 1,
    last_sync_at TEXT,                 -- when it was last read whole; NULL: what it has at first is not news
    failures INTEGER NOT NULL DEFAULT 0, -- in a row
    last_error TEXT NOT NULL DEFAULT '',
    audience TEXT NOT NULL,            -- who may hear what it says
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;
INSERT INTO new_data_sources SELECT * FROM data_sources;

-- Dropping a table deletes its rows, and theirs with them.
CREATE TEMP TABLE kept_items AS SELECT * FROM data_source_items;
CREATE TEMP TABLE kept_agents AS SELECT * FROM agent_data_sources;
DROP TABLE data_sources;
ALTER TABLE new_data_sources RENAME TO data_sources;
INSERT INTO data_source_items SELECT * FROM kept_items;
INSERT INTO agent_data_sources SELECT * FROM kept_agents;
DROP TABLE kept_items;
DROP TABLE kept_agents;
