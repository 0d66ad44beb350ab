-- One constellation: its agents, what they remember, and the spine from inbox to outbox.
-- Times are ISO 8601 text in UTC with milliseconds, which sorts. Every table with content has an audience.

CREATE TABLE agents (
    id TEXT PRIMARY KEY,
    name TEXT UNIQUE NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL,               -- 'provider:name', 'offline', or '' for the service's default
    system_prompt TEXT NOT NULL,
    config TEXT NOT NULL DEFAULT '{}', -- JSON: temperature, max_tokens, context_budget
    enabled_tools TEXT NOT NULL,       -- JSON array of tool names
    tool_rules TEXT NOT NULL DEFAULT '[]',
    status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'hibernated', 'archived')),
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE agent_groups (
    id TEXT PRIMARY KEY,
    name TEXT UNIQUE NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    pattern_type TEXT NOT NULL,
    pattern_config TEXT NOT NULL DEFAULT '{}',
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE group_members (
    group_id TEXT NOT NULL REFERENCES agent_groups(id),
    agent_id TEXT NOT NULL REFERENCES agents(id),
    role TEXT NOT NULL DEFAULT 'regular' CHECK (role IN ('regular', 'supervisor', 'observer', 'specialist')),
    position INTEGER NOT NULL DEFAULT 0,
    joined_at TEXT NOT NULL,
    PRIMARY KEY (group_id, agent_id)
) STRICT;

-- A place as it was last heard of, with how far its history has been read.
CREATE TABLE places (
    id TEXT PRIMARY KEY,
    source TEXT NOT NULL,
    kind TEXT NOT NULL,                -- 'guild', 'thread', 'direct', 'group', 'terminal'
    name TEXT NOT NULL DEFAULT '',
    audience TEXT NOT NULL,
    within TEXT NOT NULL DEFAULT '[]', -- JSON array of audiences every hearer belongs to
    group_id TEXT REFERENCES agent_groups(id),
    cursor TEXT,                       -- newest external message id that was accepted
    heard_at TEXT NOT NULL
) STRICT;

-- ---------------------------------------------------------------- the spine

CREATE TABLE messages (
    id INTEGER PRIMARY KEY,            -- snowflake: also the position
    place_id TEXT NOT NULL,
    agent_id TEXT REFERENCES agents(id),  -- the agent whose row it is; NULL for what people said
    person_id TEXT,                    -- who said it, or to whom the agent's turn belonged
    speaker TEXT NOT NULL DEFAULT '',  -- flattened display name at that moment
    batch_id INTEGER,                  -- the turn whose batch it belongs to
    sequence_in_batch INTEGER,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool', 'system')),
    content TEXT NOT NULL,
    tool_call_id TEXT,
    tool_name TEXT,
    tool_args TEXT,
    source TEXT NOT NULL,
    external_id TEXT,                  -- the platform's message id, for what came from outside
    source_metadata TEXT NOT NULL DEFAULT '{}',
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    revision INTEGER NOT NULL DEFAULT 0,
    edited_at TEXT,
    deleted_at TEXT,                   -- the text is gone; the row keeps the order
    is_archived INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL,
    search_text TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX messages_external ON messages (source, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX messages_place ON messages (place_id, id);
CREATE INDEX messages_batch ON messages (batch_id) WHERE batch_id IS NOT NULL;
CREATE INDEX messages_person ON messages (person_id, id);
CREATE INDEX messages_created ON messages (created_at);

CREATE TABLE inbox (
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    external_id TEXT NOT NULL,         -- unique per happening: message id, id@edit time, id!, message/user/emoji/n
    kind TEXT NOT NULL,                -- 'message', 'edit', 'delete', 'reaction', ...
    place_id TEXT NOT NULL,
    person_id TEXT,
    group_id TEXT,                     -- to whom the router gave it; NULL when nobody is to answer
    message_id INTEGER,
    payload TEXT NOT NULL,             -- JSON of the notification without its text
    audience TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('received', 'claimed', 'done', 'dead')),
    alone INTEGER NOT NULL DEFAULT 0,  -- after two failures joined rows run one by one
    attempts INTEGER NOT NULL DEFAULT 0,
    next_attempt_at TEXT,
    last_error TEXT,
    turn_id INTEGER,
    received_at TEXT NOT NULL,
    done_at TEXT,
    UNIQUE (source, external_id)
) STRICT;
CREATE INDEX inbox_open ON inbox (place_id, id) WHERE status IN ('received', 'claimed');
CREATE INDEX inbox_turn ON inbox (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX inbox_message ON inbox (message_id) WHERE message_id IS NOT NULL;

CREATE TABLE turns (
    id INTEGER PRIMARY KEY,
    parent_id INTEGER,
    agent_id TEXT NOT NULL REFERENCES agents(id),
    group_id TEXT,
    place_id TEXT NOT NULL,
    person_id TEXT,
    audience TEXT NOT NULL,
    within TEXT NOT NULL DEFAULT '[]',
    trust INTEGER NOT NULL,
    blocks TEXT NOT NULL DEFAULT '[]', -- JSON array of the ephemeral blocks it refers to
    status TEXT NOT NULL CHECK (status IN ('running', 'suspended', 'done', 'failed', 'cancelled')),
    restarts INTEGER NOT NULL DEFAULT 0,
    started_at TEXT NOT NULL,
    ended_at TEXT,
    error TEXT
) STRICT;
CREATE INDEX turns_open ON turns (status) WHERE status IN ('running', 'suspended');

-- Steps of turns that are not finished. A finished turn's steps become messages.
CREATE TABLE turn_steps (
    turn_id INTEGER NOT NULL REFERENCES turns(id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,                -- 'joined', 'answer', 'tool_started', 'tool_result', 'draft', 'note'
    body TEXT NOT NULL,                -- our own JSON; "v" is its version
    audience TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (turn_id, seq)
) STRICT, WITHOUT ROWID;

-- Which rows an answer used, for saying why.
CREATE TABLE turn_uses (
    turn_id INTEGER NOT NULL REFERENCES turns(id) ON DELETE CASCADE,
    kind TEXT NOT NULL,                -- 'entry', 'message', 'block'
    row_id TEXT NOT NULL,
    audience TEXT NOT NULL,
    PRIMARY KEY (turn_id, kind, row_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX turn_uses_row ON turn_uses (kind, row_id);

CREATE TABLE outbox (
    id INTEGER PRIMARY KEY,            -- snowflake; as text it is the Discord nonce
    key TEXT UNIQUE NOT NULL,          -- idempotency: 'turn/<id>/<chunk>', 'preview/<turn>', 'notice/<what>'
    place_id TEXT NOT NULL,
    source TEXT NOT NULL,
    turn_id INTEGER,
    message_id INTEGER,                -- the stored message that it says
    person_id TEXT,                    -- to whom
    agent_id TEXT,
    kind TEXT NOT NULL CHECK (kind IN ('text', 'preview')),
    content TEXT NOT NULL,
    detail TEXT NOT NULL DEFAULT '{}', -- JSON: reply_to, mentions allowed, files, speaker name, webhook
    audience TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'sending', 'sent', 'failed', 'unknown', 'withdrawn')),
    attempts INTEGER NOT NULL DEFAULT 0,
    next_attempt_at TEXT,
    external_id TEXT,                  -- the platform's id of what was sent
    last_error TEXT,
    created_at TEXT NOT NULL,
    sending_at TEXT,
    sent_at TEXT
) STRICT;
CREATE INDEX outbox_open ON outbox (place_id, id) WHERE status IN ('pending', 'sending');
CREATE INDEX outbox_external ON outbox (source, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX outbox_turn ON outbox (turn_id) WHERE turn_id IS NOT NULL;

-- One row per model call; numbers only.
CREATE TABLE model_usage (
    id INTEGER PRIMARY KEY,
    turn_id INTEGER,
    agent_id TEXT,
    person_id TEXT,
    place_id TEXT,
    model TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL DEFAULT 0,
    cache_write_tokens INTEGER NOT NULL DEFAULT 0,
    cost_usd REAL,                     -- NULL: the price is not known
    at TEXT NOT NULL
) STRICT;

-- ---------------------------------------------------------------- memory

CREATE TABLE memory_blocks (
    n INTEGER PRIMARY KEY,
    id TEXT UNIQUE NOT NULL,
    agent_id TEXT NOT NULL,            -- owner: an agent, or '_constellation_'
    label TEXT NOT NULL,
    description TEXT NOT NULL,
    block_type TEXT NOT NULL CHECK (block_type IN ('core', 'working', 'archival', 'log')),
    schema TEXT NOT NULL DEFAULT '{"type":"text"}',
    char_limit INTEGER NOT NULL,
    permission TEXT NOT NULL CHECK (permission IN ('read_only', 'partner', 'human', 'append', 'read_write', 'admin')),
    pinned INTEGER NOT NULL DEFAULT 0,
    person_id TEXT,                    -- whom it is about, if one person
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    profile TEXT NOT NULL DEFAULT '',  -- read-only part that a source keeps up to date
    content TEXT NOT NULL DEFAULT '',  -- the document's text, so that prompts need no document
    next_seq INTEGER NOT NULL DEFAULT 1,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    deleted_at TEXT,
    search_text TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX memory_blocks_label ON memory_blocks (agent_id, label, audience) WHERE deleted_at IS NULL;

-- One stable Loro peer per block and writer, so that one writer's changes can be told apart.
CREATE TABLE memory_block_writers (
    block_id TEXT NOT NULL REFERENCES memory_blocks(id) ON DELETE CASCADE,
    writer TEXT NOT NULL,              -- 'agent:<id>', 'person:<id>', 'system', 'job:<name>'
    peer INTEGER NOT NULL,
    PRIMARY KEY (block_id, writer),
    UNIQUE (block_id, peer)
) STRICT, WITHOUT ROWID;

CREATE TABLE memory_block_updates (
    block_id TEXT NOT NULL REFERENCES memory_blocks(id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    update_blob BLOB NOT NULL,
    digest BLOB NOT NULL,              -- BLAKE2b-64 of update_blob
    byte_size INTEGER NOT NULL,
    source TEXT NOT NULL,              -- the writer
    audience TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (block_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE memory_block_checkpoints (
    block_id TEXT NOT NULL REFERENCES memory_blocks(id) ON DELETE CASCADE,
    up_to_seq INTEGER NOT NULL,
    snapshot BLOB NOT NULL,
    digest BLOB NOT NULL,
    frontier BLOB NOT NULL,
    audience TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (block_id, up_to_seq)
) STRICT, WITHOUT ROWID;

-- Blobs that could not be read, kept for looking at.
CREATE TABLE memory_block_quarantine (
    block_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('update', 'checkpoint')),
    blob BLOB NOT NULL,
    reason TEXT NOT NULL,
    audience TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (block_id, kind, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE shared_block_agents (
    block_id TEXT NOT NULL REFERENCES memory_blocks(id) ON DELETE CASCADE,
    agent_id TEXT NOT NULL REFERENCES agents(id),
    permission TEXT NOT NULL CHECK (permission IN ('read_only', 'append', 'read_write')),
    attached_at TEXT NOT NULL,
    PRIMARY KEY (block_id, agent_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE archival_entries (
    n INTEGER PRIMARY KEY,
    id TEXT UNIQUE NOT NULL,
    agent_id TEXT NOT NULL,
    label TEXT,
    content TEXT NOT NULL,
    category TEXT NOT NULL DEFAULT '',
    tags TEXT NOT NULL DEFAULT '[]',
    metadata TEXT NOT NULL DEFAULT '{}',
    importance REAL NOT NULL DEFAULT 0.5,
    reinforcement INTEGER NOT NULL DEFAULT 0,
    person_id TEXT,                    -- whose words it holds
    message_id INTEGER,                -- the message it was learned from
    turn_id INTEGER,
    chunk_index INTEGER NOT NULL DEFAULT 0,
    parent_entry_id TEXT,
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    last_seen TEXT,
    archived_at TEXT,
    superseded_by TEXT,
    search_text TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX archival_label ON archival_entries (agent_id, label, audience) WHERE label IS NOT NULL;
CREATE INDEX archival_agent ON archival_entries (agent_id, n);
CREATE INDEX archival_message ON archival_entries (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX archival_person ON archival_entries (person_id, n);

-- ---------------------------------------------------------------- full text
-- External content over search_text, which Python prepares (accents and stems by the tokenizer, CJK as bigrams).
-- 'secure-delete' removes a deleted row's words from the index itself. Blocks do without: they change all the time,
-- and it makes each of their commits ten times slower; erasing a person rebuilds that index instead.

CREATE VIRTUAL TABLE message_fts USING fts5(search_text, content='messages', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO message_fts (message_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER message_fts_insert AFTER INSERT ON messages WHEN new.search_text <> '' BEGIN
    INSERT INTO message_fts (rowid, search_text) VALUES (new.id, new.search_text);
END;
CREATE TRIGGER message_fts_delete AFTER DELETE ON messages WHEN old.search_text <> '' BEGIN
    INSERT INTO message_fts (message_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
END;
CREATE TRIGGER message_fts_update AFTER UPDATE OF search_text ON messages BEGIN
    INSERT INTO message_fts (message_fts, rowid, search_text) SELECT 'delete', old.id, old.search_text WHERE old.search_text <> '';
    INSERT INTO message_fts (rowid, search_text) SELECT new.id, new.search_text WHERE new.search_text <> '';
END;

CREATE VIRTUAL TABLE archival_fts USING fts5(search_text, content='archival_entries', content_rowid='n', tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO archival_fts (archival_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER archival_fts_insert AFTER INSERT ON archival_entries BEGIN
    INSERT INTO archival_fts (rowid, search_text) VALUES (new.n, new.search_text);
END;
CREATE TRIGGER archival_fts_delete AFTER DELETE ON archival_entries BEGIN
    INSERT INTO archival_fts (archival_fts, rowid, search_text) VALUES ('delete', old.n, old.search_text);
END;
CREATE TRIGGER archival_fts_update AFTER UPDATE OF search_text ON archival_entries BEGIN
    INSERT INTO archival_fts (archival_fts, rowid, search_text) VALUES ('delete', old.n, old.search_text);
    INSERT INTO archival_fts (rowid, search_text) VALUES (new.n, new.search_text);
END;

CREATE VIRTUAL TABLE block_fts USING fts5(search_text, content='memory_blocks', content_rowid='n', tokenize='porter unicode61 remove_diacritics 2');
CREATE TRIGGER block_fts_insert AFTER INSERT ON memory_blocks BEGIN
    INSERT INTO block_fts (rowid, search_text) VALUES (new.n, new.search_text);
END;
CREATE TRIGGER block_fts_delete AFTER DELETE ON memory_blocks BEGIN
    INSERT INTO block_fts (block_fts, rowid, search_text) VALUES ('delete', old.n, old.search_text);
END;
CREATE TRIGGER block_fts_update AFTER UPDATE OF search_text ON memory_blocks BEGIN
    INSERT INTO block_fts (block_fts, rowid, search_text) VALUES ('delete', old.n, old.search_text);
    INSERT INTO block_fts (rowid, search_text) VALUES (new.n, new.search_text);
END;
