-- The tables of a constellation's file, by topic, each with its indexes and triggers. New files begin with this one.

-- --------------------------------------------------------------------------------------------------- Agents and groups

CREATE TABLE agents (
    id TEXT PRIMARY KEY,
    name TEXT UNIQUE NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL,               -- 'provider:name', 'offline', or '' for the service's default
    system_prompt TEXT NOT NULL,
    config TEXT NOT NULL DEFAULT '{}', -- JSON: temperature, max_tokens, context_budget
    enabled_tools TEXT NOT NULL,       -- JSON array of tool names
    tool_rules TEXT NOT NULL DEFAULT '[]', -- JSON array: {"rule", "tool", ...}
    status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'hibernated', 'archived')),
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    usual_tools INTEGER NOT NULL DEFAULT 0 -- 1: it has every tool, also those that a later version brings
) STRICT;

-- Agents that answer together, and what makes a message one for them.
CREATE TABLE agent_groups (
    id TEXT PRIMARY KEY,
    name TEXT UNIQUE NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    pattern_type TEXT NOT NULL,
    pattern_config TEXT NOT NULL DEFAULT '{}',
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    keywords TEXT NOT NULL DEFAULT '[]',
    mention INTEGER NOT NULL DEFAULT 1,
    states TEXT NOT NULL DEFAULT '[]'
) STRICT;

CREATE TABLE group_members (
    group_id TEXT NOT NULL REFERENCES agent_groups(id),
    agent_id TEXT NOT NULL REFERENCES agents(id),
    role TEXT NOT NULL DEFAULT 'regular' CHECK (role IN ('regular', 'supervisor', 'observer', 'specialist')),
    position INTEGER NOT NULL DEFAULT 0,
    joined_at TEXT NOT NULL,
    domain TEXT NOT NULL DEFAULT '',
    capabilities TEXT NOT NULL DEFAULT '[]',
    model TEXT NOT NULL DEFAULT '',    -- '': the agent's own
    PRIMARY KEY (group_id, agent_id)
) STRICT;

-- What a group's pattern keeps between runs, such as whose turn is next.
CREATE TABLE group_states (
    group_id TEXT PRIMARY KEY REFERENCES agent_groups(id) ON DELETE CASCADE,
    state TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- --------------------------------------------------------------------------------------------------- People and places

CREATE TABLE places (
    id TEXT PRIMARY KEY,
    source TEXT NOT NULL,
    kind TEXT NOT NULL,                -- 'guild', 'thread', 'direct', 'group', 'terminal'
    name TEXT NOT NULL DEFAULT '',
    audience TEXT NOT NULL,
    within TEXT NOT NULL DEFAULT '[]', -- JSON array of audiences every hearer belongs to
    group_id TEXT REFERENCES agent_groups(id),
    cursor TEXT,                       -- newest external message id that was accepted
    heard_at TEXT NOT NULL,
    bindings TEXT NOT NULL DEFAULT '[]' -- JSON array: by which names settings concern it, the narrowest first; empty
                                       -- for direct messages
) STRICT;

-- What was decided while the service ran: for places, sources and people.
CREATE TABLE steering (
    kind TEXT NOT NULL CHECK (kind IN ('mode', 'group', 'model', 'pause', 'language')),
    subject TEXT NOT NULL,             -- mode: 'discord:<channel, category or guild>'; group, model: a binding;
                                       -- pause: a source; language: a person id
    value TEXT NOT NULL,               -- the mode; the group's id; the model; nothing; the language
    decided_by TEXT NOT NULL,          -- person id
    decided_at TEXT NOT NULL,
    PRIMARY KEY (kind, subject)
) STRICT, WITHOUT ROWID;

-- Who was let in or shut out by a decision.
CREATE TABLE people_rules (
    subject TEXT PRIMARY KEY,          -- 'discord:<user>', 'discord:role:<role>', 'discord:guild:<guild>'
    rule TEXT NOT NULL CHECK (rule IN ('allow', 'deny')),
    via TEXT NOT NULL CHECK (via IN ('command', 'code')),
    decided_by TEXT NOT NULL,          -- person id
    decided_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Codes by which strangers ask to be let in. Nothing that they wrote is kept.
CREATE TABLE pairing_codes (
    person_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,                -- as they call themselves, flattened: for the list that the owner sees
    code TEXT UNIQUE,                  -- NULL: none is open, because it was withdrawn
    told INTEGER NOT NULL,             -- codes that they were given since `first_at`
    audience TEXT NOT NULL,
    first_at TEXT NOT NULL,
    expires_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- By whose clocks people are reminded, and when they want quiet.
CREATE TABLE person_times (
    person_id TEXT PRIMARY KEY,
    zone TEXT NOT NULL DEFAULT '',     -- '': that of the house
    quiet_from TEXT NOT NULL DEFAULT '', -- '22:30'
    quiet_until TEXT NOT NULL DEFAULT '',
    updated_at TEXT NOT NULL,
    reminders TEXT NOT NULL DEFAULT '' -- where they arrive: 'here' (where they were set), 'privately'; '': not said
) STRICT, WITHOUT ROWID;

-- One word of people's own for how they are, by which groups decide who answers.
CREATE TABLE person_states (
    person_id TEXT NOT NULL,
    audience TEXT NOT NULL,
    state TEXT NOT NULL,
    said_at TEXT NOT NULL,
    PRIMARY KEY (person_id, audience)
) STRICT, WITHOUT ROWID;

-- Whose words are shown in no one else's turn: who wants nothing kept, and who asks not to be shown to everybody.
CREATE TABLE unshown_people (
    person_id TEXT NOT NULL,
    why TEXT NOT NULL,                 -- 'choice' or 'label'
    since TEXT NOT NULL,
    PRIMARY KEY (person_id, why)
) STRICT, WITHOUT ROWID;

-- ------------------------------------------------------------------------------------------------------------ Messages

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
    is_archived INTEGER NOT NULL DEFAULT 0, -- 1: no turn sees it any more, search does
    created_at TEXT NOT NULL,
    search_text TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX messages_external ON messages (source, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX messages_place ON messages (place_id, id);
CREATE INDEX messages_batch ON messages (batch_id) WHERE batch_id IS NOT NULL;
CREATE INDEX messages_person ON messages (person_id, id);
CREATE INDEX messages_created ON messages (created_at);
-- Who talked to the agents is counted from this index alone.
CREATE INDEX messages_said ON messages (person_id, created_at, audience) WHERE role = 'user' AND deleted_at IS NULL;
-- A word is looked up among all messages that have it without reading them.
CREATE INDEX messages_found ON messages (id, audience, length(search_text))
    WHERE deleted_at IS NULL AND search_text <> '';

CREATE VIRTUAL TABLE message_fts USING fts5(search_text, content='messages', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO message_fts (message_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER message_fts_insert AFTER INSERT ON messages WHEN new.search_text <> '' BEGIN
    INSERT INTO message_fts (rowid, search_text) VALUES (new.id, new.search_text);
END;
CREATE TRIGGER message_fts_delete AFTER DELETE ON messages WHEN old.search_text <> '' BEGIN
    INSERT INTO message_fts (message_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
END;
CREATE TRIGGER message_fts_update AFTER UPDATE OF search_text ON messages BEGIN
    INSERT INTO message_fts (message_fts, rowid, search_text)
        SELECT 'delete', old.id, old.search_text WHERE old.search_text <> '';
    INSERT INTO message_fts (rowid, search_text) SELECT new.id, new.search_text WHERE new.search_text <> '';
END;

-- Files that came with a message over HTTP, or only their names where they were not taken. Who may read the message may
-- have them, and they go when its words go.
CREATE TABLE message_files (
    message_id INTEGER NOT NULL REFERENCES messages(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    content_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    skipped TEXT NOT NULL,             -- why it was not taken; '' when it was
    content BLOB NOT NULL,
    audience TEXT NOT NULL,
    PRIMARY KEY (message_id, position)
) STRICT;
CREATE TRIGGER message_files_narrowed AFTER UPDATE OF audience ON messages WHEN new.audience <> old.audience BEGIN
    UPDATE message_files SET audience = new.audience WHERE message_id = new.id;
END;
CREATE TRIGGER message_files_gone AFTER UPDATE OF deleted_at ON messages WHEN new.deleted_at IS NOT NULL BEGIN
    DELETE FROM message_files WHERE message_id = new.id;
END;

-- Messages of a place that were sent while nobody listened and that could not be read so far. What is said there live
-- moves the place's cursor on, past them; this remembers them until they are read or cannot be read for good.
-- A row that is closed stays for a while, so that somebody can be told of it.
CREATE TABLE gaps (
    place_id TEXT NOT NULL,            -- may have no row in places: nothing was ever heard there
    after TEXT NOT NULL,               -- the last message that was seen before
    before TEXT NOT NULL,              -- what is newer was heard live
    reason TEXT NOT NULL,
    tries INTEGER NOT NULL,
    noticed_at TEXT NOT NULL,
    next_try_at TEXT,                  -- NULL once it is closed
    closed_at TEXT,
    PRIMARY KEY (place_id, after),
    CHECK ((next_try_at IS NULL) <> (closed_at IS NULL))
) STRICT, WITHOUT ROWID;

-- What a source saw and did not accept. Platforms return the same notifications again and again.
CREATE TABLE passed_over (
    source TEXT NOT NULL,
    digest TEXT NOT NULL,              -- of the external id
    why TEXT NOT NULL,                 -- 'filtered', 'vacated', 'deleted', 'before', ...
    at TEXT NOT NULL,
    PRIMARY KEY (source, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX passed_over_at ON passed_over (at);

-- What has to follow an edit or a deletion: blocks, entries, answers and facts that hold the words that went. A row is
-- written with the redaction of the message and goes when its part is done.
CREATE TABLE follow_ups (
    id INTEGER PRIMARY KEY,
    message_id INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    person_id TEXT,
    audience TEXT NOT NULL,
    part TEXT NOT NULL CHECK (part IN ('blocks', 'words', 'facts')),
    old_text TEXT NOT NULL,
    learners TEXT NOT NULL DEFAULT '[]', -- JSON array of [agent, session]: who learned facts from it
    ask TEXT NOT NULL DEFAULT '{}',    -- JSON object: whom to ask to store again what an edit removed
    at TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    next_attempt_at TEXT,
    last_error TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX follow_ups_by_message ON follow_ups (message_id);

-- --------------------------------------------------------------------------------------------------------------- Turns

-- What arrived and has to be handled exactly once.
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
    about_id INTEGER,                  -- the message that an edit, a decision or an agent's letter is about
    ran INTEGER NOT NULL DEFAULT 0,    -- 1: the try that runs came to a model call or a tool, so it counts
    starts INTEGER NOT NULL DEFAULT 0, -- tries in a row that did not, because the process ended before
    UNIQUE (source, external_id)
) STRICT;
CREATE INDEX inbox_open ON inbox (place_id, id) WHERE status IN ('received', 'claimed');
CREATE INDEX inbox_turn ON inbox (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX inbox_message ON inbox (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX inbox_written ON inbox (place_id, group_id) WHERE source = 'agent' AND status = 'received';
CREATE INDEX inbox_about ON inbox (about_id) WHERE about_id IS NOT NULL;
CREATE INDEX inbox_dead ON inbox (person_id) WHERE status = 'dead';

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
    restarts INTEGER NOT NULL DEFAULT 0, -- what an earlier start still does is of no effect
    started_at TEXT NOT NULL,
    ended_at TEXT,
    error TEXT,
    away_since TEXT,                   -- when the person was last heard before
    heard TEXT NOT NULL DEFAULT '[]'   -- JSON array: the messages that it began with, each with its revision
) STRICT;
CREATE INDEX turns_open ON turns (status) WHERE status IN ('running', 'suspended');
CREATE INDEX turns_started ON turns (started_at);
CREATE INDEX turns_parent ON turns (parent_id) WHERE parent_id IS NOT NULL;

-- What a turn has done so far, so that it goes on after a restart. One that is over keeps no steps.
CREATE TABLE turn_steps (
    turn_id INTEGER NOT NULL REFERENCES turns(id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,                -- 'joined', 'answer', 'tool_started', 'tool_result', 'draft', 'note'
    body TEXT NOT NULL,                -- our own JSON; "v" is its version
    audience TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (turn_id, seq)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER turns_drop_steps AFTER UPDATE OF status ON turns WHEN new.status NOT IN ('running', 'suspended') BEGIN
    DELETE FROM turn_steps WHERE turn_id = new.id;
END;

-- What a turn was shown or found, so that its answer goes with the words that it was made from.
CREATE TABLE turn_uses (
    turn_id INTEGER NOT NULL REFERENCES turns(id) ON DELETE CASCADE,
    kind TEXT NOT NULL,                -- 'entry', 'message', 'block', 'summary'; 'gone': of a summary that is no more
    row_id TEXT NOT NULL,
    audience TEXT NOT NULL,
    PRIMARY KEY (turn_id, kind, row_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX turn_uses_entry ON turn_uses (row_id) WHERE kind = 'entry';
CREATE INDEX turn_uses_message ON turn_uses (row_id) WHERE kind = 'message';
CREATE INDEX turn_uses_summary ON turn_uses (row_id) WHERE kind = 'summary';

-- Messages between agents, counted so that they come to an end.
CREATE TABLE agent_messages (
    inbox_id INTEGER PRIMARY KEY,
    root_id INTEGER NOT NULL,          -- the turn at the start of the chain
    turn_id INTEGER NOT NULL,          -- of who wrote
    from_agent TEXT NOT NULL REFERENCES agents(id),
    to_agent TEXT,                     -- NULL: the group itself
    to_group TEXT NOT NULL,            -- which answers
    sent_at TEXT NOT NULL
) STRICT;
CREATE INDEX agent_messages_root ON agent_messages (root_id);
CREATE INDEX agent_messages_turn ON agent_messages (turn_id);
CREATE INDEX agent_messages_sent ON agent_messages (sent_at);

-- What a group does for one message. A run is the turn that has claimed the message.
CREATE TABLE group_runs (
    turn_id INTEGER PRIMARY KEY REFERENCES turns(id) ON DELETE CASCADE,
    group_id TEXT NOT NULL,
    pattern TEXT NOT NULL,
    settings TEXT NOT NULL,            -- what the group was told when the run began
    conducted INTEGER NOT NULL,        -- 0: the turn's own agent answers; 1: the answer is made of parts
    plan TEXT NOT NULL DEFAULT '{}',   -- what was decided when it began
    outcome TEXT NOT NULL DEFAULT '{}',-- what it came to: who spoke, ballots and tally
    person_id TEXT,
    audience TEXT NOT NULL,
    started_at TEXT NOT NULL,
    ended_at TEXT
) STRICT;
CREATE INDEX group_runs_group ON group_runs (group_id, turn_id);

-- What one member is asked to do in a run, in a turn of its own whose answer goes here instead of to people.
CREATE TABLE group_parts (
    turn_id INTEGER PRIMARY KEY REFERENCES turns(id) ON DELETE CASCADE,
    run_id INTEGER NOT NULL REFERENCES turns(id) ON DELETE CASCADE,
    asked_by INTEGER NOT NULL,         -- the turn that waits for it: the run's, or that of an agent that delegated
    call_id TEXT NOT NULL DEFAULT '',  -- the call by which it was delegated
    agent_id TEXT NOT NULL REFERENCES agents(id),
    kind TEXT NOT NULL CHECK (kind IN ('answer', 'stage', 'ballot', 'choice', 'task', 'observe')),
    stage INTEGER NOT NULL DEFAULT 0,
    attempt INTEGER NOT NULL DEFAULT 1,
    task TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL CHECK (status IN ('running', 'done', 'failed', 'late')),
    output TEXT NOT NULL DEFAULT '',
    detail TEXT NOT NULL DEFAULT '{}', -- JSON: a ballot, a choice
    person_id TEXT,
    audience TEXT NOT NULL,
    started_at TEXT NOT NULL,
    ended_at TEXT
) STRICT;
CREATE INDEX group_parts_run ON group_parts (run_id, turn_id);
CREATE INDEX group_parts_open ON group_parts (kind) WHERE status = 'running';
CREATE INDEX group_parts_call ON group_parts (asked_by, call_id) WHERE call_id <> '';

-- What is to be delivered, each once.
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
CREATE INDEX outbox_previews ON outbox (place_id, id) WHERE kind = 'preview' AND status IN ('sending', 'sent');
CREATE INDEX outbox_undelivered ON outbox (id) WHERE status IN ('failed', 'unknown');
CREATE INDEX outbox_held ON outbox (turn_id, id) WHERE status = 'withdrawn' AND turn_id IS NOT NULL;

-- --------------------------------------------------------------------------------------------------------------- Costs

-- What each call of a model cost: numbers, never text.
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
    at TEXT NOT NULL,
    guild_id TEXT
) STRICT;
-- Costs are added up from these indexes alone.
CREATE INDEX model_usage_at ON model_usage (at, agent_id, model, input_tokens, output_tokens, cost_usd);
CREATE INDEX model_usage_days ON model_usage (substr(at, 1, 10), agent_id, model, turn_id IS NULL, person_id IS NULL,
    input_tokens, output_tokens, cost_usd, cache_read_tokens, at);

CREATE TABLE budgets (
    subject TEXT NOT NULL,             -- 'constellation', 'agent:<name>', or 'guild' or 'person', also with ':<id>'
    period TEXT NOT NULL CHECK (period IN ('day', 'month')),
    usd REAL,                          -- NULL: no limit in money
    tokens INTEGER,                    -- NULL: no limit in tokens
    decided_by TEXT NOT NULL,          -- person id
    decided_at TEXT NOT NULL,
    PRIMARY KEY (subject, period)
) STRICT, WITHOUT ROWID;

-- What calls that run may come to at most.
CREATE TABLE budget_reservations (
    id INTEGER PRIMARY KEY,
    turn_id INTEGER NOT NULL,
    agent_id TEXT NOT NULL,
    person_id TEXT,
    guild_id TEXT,
    usd REAL,                          -- NULL: the price is not known
    tokens INTEGER NOT NULL,
    at TEXT NOT NULL
) STRICT;

-- --------------------------------------------------------------------------------------------------------- Permissions

CREATE TABLE permission_requests (
    id INTEGER PRIMARY KEY,            -- snowflake
    scope TEXT NOT NULL CHECK (scope IN ('tool_execution', 'memory_edit', 'memory_batch', 'data_source_action')),
    subject TEXT NOT NULL,             -- the tool, block or place
    agent_id TEXT NOT NULL REFERENCES agents(id),
    group_id TEXT NOT NULL,
    turn_id INTEGER NOT NULL,          -- the turn that asked
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    arguments TEXT NOT NULL,           -- exactly as the agent gave them
    digest BLOB NOT NULL,              -- SHA-256 of tool and arguments
    covers TEXT NOT NULL,              -- JSON array of [scope, subject, version]: all that the yes covers
    pattern TEXT NOT NULL,             -- JSON object: the arguments that a lasting yes fixes
    reason TEXT NOT NULL,              -- why it is asked, in words
    place_id TEXT NOT NULL,
    person_id TEXT,                    -- whose turn it was
    audience TEXT NOT NULL,
    within TEXT NOT NULL DEFAULT '[]',
    trust INTEGER NOT NULL,
    approvers TEXT NOT NULL,           -- JSON array: persons, and roles as 'role:<guild>:<role>'
    quorum INTEGER NOT NULL DEFAULT 1 CHECK (quorum > 0),
    once_only INTEGER NOT NULL DEFAULT 0, -- destructive: no lasting grant is offered
    status TEXT NOT NULL CHECK (status IN ('waiting', 'approved', 'denied', 'expired', 'withdrawn', 'used')),
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    decided_at TEXT,
    shown TEXT NOT NULL DEFAULT '{}'   -- JSON object: versions of blocks, as the agent had been shown them
) STRICT;
CREATE UNIQUE INDEX permission_requests_call ON permission_requests (turn_id, call_id) WHERE status = 'waiting';
CREATE INDEX permission_requests_waiting ON permission_requests (expires_at) WHERE status = 'waiting';

CREATE TABLE permission_votes (
    request_id INTEGER NOT NULL REFERENCES permission_requests(id) ON DELETE CASCADE,
    person_id TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('once', 'hour', 'always', 'deny')),
    audience TEXT NOT NULL,
    at TEXT NOT NULL,
    name TEXT NOT NULL DEFAULT '',     -- of the account that voted, as it was then: a restart knows no other
    PRIMARY KEY (request_id, person_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE permission_grants (
    id INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    subject TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    pattern TEXT NOT NULL,
    audience TEXT NOT NULL,
    person_id TEXT NOT NULL,           -- who allowed it
    request_id INTEGER,
    created_at TEXT NOT NULL,
    expires_at TEXT,                   -- NULL: until it is revoked
    revoked_at TEXT
) STRICT;
CREATE INDEX permission_grants_subject ON permission_grants (scope, subject, agent_id) WHERE revoked_at IS NULL;

-- Append only: an erasure may take away who it was and what for, nothing else.
CREATE TABLE permission_audit (
    id INTEGER PRIMARY KEY,
    event TEXT NOT NULL,               -- 'asked', 'voted', 'approved', 'denied', 'used', 'granted', 'revoked', ...
    request_id INTEGER,
    grant_id INTEGER,
    person_id TEXT,                    -- who did it
    agent_id TEXT,
    scope TEXT,
    digest BLOB,
    detail TEXT NOT NULL DEFAULT '',   -- words of ours, never of anybody else
    audience TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE TRIGGER permission_audit_stays BEFORE DELETE ON permission_audit BEGIN
    SELECT raise(ABORT, 'the record of permissions is append only');
END;
CREATE TRIGGER permission_audit_says BEFORE UPDATE ON permission_audit
    WHEN old.event <> new.event OR old.at <> new.at OR old.request_id IS NOT new.request_id
        OR old.grant_id IS NOT new.grant_id OR old.agent_id IS NOT new.agent_id OR old.detail <> new.detail
        OR old.scope IS NOT new.scope OR (new.digest IS NOT NULL AND old.digest IS NOT new.digest)
        OR (new.person_id IS NOT NULL AND old.person_id IS NOT new.person_id) BEGIN
    SELECT raise(ABORT, 'the record of permissions is append only');
END;

-- -------------------------------------------------------------------------------------------------------------- Blocks

-- Blocks that belong to no one agent, as the configuration makes them.
CREATE TABLE constellation_blocks (
    label TEXT PRIMARY KEY,
    seed TEXT NOT NULL,                -- JSON, as an agent's row keeps its own blocks
    permissions TEXT NOT NULL          -- JSON, by agents.id: those of agents that have another than the block's
) STRICT, WITHOUT ROWID;

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
    next_seq INTEGER NOT NULL DEFAULT 1, -- of the next row in memory_block_updates
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    deleted_at TEXT,
    search_text TEXT NOT NULL DEFAULT '',
    sealed_seq INTEGER NOT NULL DEFAULT 0, -- nothing up to here is undone: that would bring back erased words
    named_by TEXT NOT NULL DEFAULT '', -- the writer who gave it its name; '' where it is not known
    named_turn INTEGER,                -- in which turn: an erasure takes names as words of their writers
    described_by TEXT NOT NULL DEFAULT '', -- the same of its description: it may be somebody else
    described_turn INTEGER
) STRICT;
CREATE UNIQUE INDEX memory_blocks_label ON memory_blocks (agent_id, label, audience) WHERE deleted_at IS NULL;

CREATE VIRTUAL TABLE block_fts USING fts5(search_text, content='memory_blocks', content_rowid='n',
    tokenize='porter unicode61 remove_diacritics 2');
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

-- Agents with which a block is shared.
CREATE TABLE shared_block_agents (
    block_id TEXT NOT NULL REFERENCES memory_blocks(id) ON DELETE CASCADE,
    agent_id TEXT NOT NULL REFERENCES agents(id),
    permission TEXT NOT NULL CHECK (permission IN ('read_only', 'append', 'read_write')),
    attached_at TEXT NOT NULL,
    PRIMARY KEY (block_id, agent_id)
) STRICT, WITHOUT ROWID;

-- The number by which a block's document knows each writer.
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

-- Which blocks a turn changed: what it wrote goes with the messages that it answered.
CREATE TABLE memory_block_turns (
    turn_id INTEGER NOT NULL,
    block_id TEXT NOT NULL REFERENCES memory_blocks(id) ON DELETE CASCADE,
    PRIMARY KEY (turn_id, block_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_block_turns_block ON memory_block_turns (block_id);

-- The whole document as it was after some update, so that it loads quickly.
CREATE TABLE memory_block_checkpoints (
    block_id TEXT NOT NULL REFERENCES memory_blocks(id) ON DELETE CASCADE,
    up_to_seq INTEGER NOT NULL,
    snapshot BLOB NOT NULL,
    digest BLOB NOT NULL,
    frontier BLOB NOT NULL,
    audience TEXT NOT NULL,
    created_at TEXT NOT NULL,
    base_seq INTEGER NOT NULL DEFAULT 0, -- its history begins after this update ...
    base_text TEXT NOT NULL DEFAULT '', -- ... with this text
    PRIMARY KEY (block_id, up_to_seq)
) STRICT, WITHOUT ROWID;

-- History that is older than the document's own, until it is too old to be kept.
CREATE TABLE memory_block_archives (
    block_id TEXT NOT NULL REFERENCES memory_blocks(id) ON DELETE CASCADE,
    up_to_seq INTEGER NOT NULL,
    after_seq INTEGER NOT NULL,
    blob BLOB NOT NULL,
    digest BLOB NOT NULL,              -- BLAKE2b-64 of blob
    newest_at TEXT NOT NULL,           -- when its last change was made
    audience TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (block_id, up_to_seq)
) STRICT, WITHOUT ROWID;

-- What could not be read, in case that somebody can.
CREATE TABLE memory_block_quarantine (
    block_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('update', 'checkpoint', 'archive')),
    blob BLOB NOT NULL,
    reason TEXT NOT NULL,
    audience TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (block_id, kind, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE memory_block_repairs (
    id INTEGER PRIMARY KEY,            -- snowflake
    block_id TEXT NOT NULL REFERENCES memory_blocks(id) ON DELETE CASCADE,
    findings TEXT NOT NULL,            -- JSON array of lines
    outcome TEXT NOT NULL,             -- 'repaired', or 'unreadable' where nothing helped
    audience TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX memory_block_repairs_at ON memory_block_repairs (at);

-- ------------------------------------------------------------------------------------------------------------- Entries

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
    parent_entry_id TEXT,              -- of a later part of a long text: the first
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    last_seen TEXT,
    archived_at TEXT,                  -- since when it is not found any more
    superseded_by TEXT,                -- the entry that says it now
    search_text TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX archival_label ON archival_entries (agent_id, label, audience) WHERE label IS NOT NULL;
CREATE INDEX archival_agent ON archival_entries (agent_id, n);
CREATE INDEX archival_message ON archival_entries (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX archival_person ON archival_entries (person_id, n);
CREATE INDEX archival_parent ON archival_entries (parent_entry_id) WHERE parent_entry_id IS NOT NULL;
CREATE INDEX archival_superseded ON archival_entries (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX archival_retired ON archival_entries (archived_at) WHERE archived_at IS NOT NULL;
CREATE INDEX archival_begins ON archival_entries (agent_id, audience, substr(rtrim(content, ' .!?…'), 1, 64))
    WHERE parent_entry_id IS NULL;
-- Every search asks how many entries can be found.
CREATE INDEX archival_living ON archival_entries (agent_id, audience)
    WHERE archived_at IS NULL AND superseded_by IS NULL;

CREATE VIRTUAL TABLE archival_fts USING fts5(search_text, content='archival_entries', content_rowid='n',
    tokenize='porter unicode61 remove_diacritics 2');
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
-- A card that asks about an entry holds its words.
CREATE TRIGGER preference_card_gone AFTER DELETE ON archival_entries BEGIN
    UPDATE outbox SET content = '', status = iif(status = 'pending', 'withdrawn', status)
        WHERE key IN ('preference/' || old.id, 'preference/' || old.id || '/shown');
END;

-- Which entries were made of another one, to find it by what it does not say itself. They go together.
CREATE TABLE entry_expansions (
    source_id TEXT NOT NULL,           -- archival_entries.id: what was saved
    entry_id TEXT NOT NULL,            -- archival_entries.id: what was made of it
    PRIMARY KEY (source_id, entry_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX entry_expansions_entry ON entry_expansions (entry_id);
CREATE TRIGGER expansion_gone AFTER DELETE ON archival_entries BEGIN
    DELETE FROM entry_expansions WHERE source_id = old.id OR entry_id = old.id;
    DELETE FROM jobs WHERE id = 'expand:' || old.id;
END;

-- Changes by turns that nobody attended, kept for a while so that they can be undone together.
CREATE TABLE archival_journal (
    id INTEGER PRIMARY KEY,            -- snowflake
    turn_id INTEGER NOT NULL,
    entry_id TEXT NOT NULL,
    deed TEXT NOT NULL CHECK (deed IN ('insert', 'change', 'delete')),
    before TEXT NOT NULL DEFAULT '',   -- JSON: the row as it was; '' where there was none
    after TEXT NOT NULL DEFAULT '',    -- digest of what the turn left; '' where nothing is left
    people TEXT NOT NULL DEFAULT '[]', -- JSON array: whose words it holds
    messages TEXT NOT NULL DEFAULT '[]', -- JSON array: from which messages
    audience TEXT NOT NULL,
    at TEXT NOT NULL,
    undone_at TEXT
) STRICT;
CREATE INDEX archival_journal_turn ON archival_journal (turn_id);
CREATE INDEX archival_journal_entry ON archival_journal (entry_id);
CREATE TRIGGER archival_journal_changed AFTER UPDATE OF content, deleted_at, audience ON messages
WHEN new.content <> old.content OR (new.deleted_at IS NOT NULL AND old.deleted_at IS NULL)
    OR new.audience <> old.audience BEGIN
    DELETE FROM archival_journal WHERE old.id IN (SELECT value FROM json_each(messages));
END;
CREATE TRIGGER archival_journal_gone AFTER DELETE ON messages BEGIN
    DELETE FROM archival_journal WHERE old.id IN (SELECT value FROM json_each(messages));
END;

-- Things that an agent's entries mention and how they are related, each read out of one entry.
CREATE TABLE graph_triples (
    id INTEGER PRIMARY KEY,            -- snowflake
    run_id TEXT NOT NULL,              -- dream_runs.id
    agent_id TEXT NOT NULL,
    entry_id TEXT NOT NULL,            -- the entry that says so
    subject TEXT NOT NULL,
    subject_kind TEXT NOT NULL,
    subject_key TEXT NOT NULL,         -- its words, folded
    relation TEXT NOT NULL,
    relation_key TEXT NOT NULL,
    object TEXT NOT NULL,
    object_kind TEXT NOT NULL,
    object_key TEXT NOT NULL,
    audience TEXT NOT NULL,            -- that of the entry
    trust INTEGER NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX graph_subject ON graph_triples (agent_id, subject_key);
CREATE INDEX graph_object ON graph_triples (agent_id, object_key);
CREATE INDEX graph_entry ON graph_triples (entry_id);
CREATE INDEX graph_run ON graph_triples (run_id);
CREATE TRIGGER graph_entry_changed AFTER UPDATE OF content, audience, trust ON archival_entries
WHEN new.content <> old.content OR new.audience <> old.audience OR new.trust <> old.trust BEGIN
    DELETE FROM graph_triples WHERE entry_id = old.id;
END;
CREATE TRIGGER graph_entry_gone AFTER DELETE ON archival_entries BEGIN
    DELETE FROM graph_triples WHERE entry_id = old.id;
END;

-- -------------------------------------------------------------------------------------------------------------- Nights

-- Entries in the order in which they became new: a run looks at those since its mark.
CREATE TABLE dream_changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    n INTEGER NOT NULL UNIQUE          -- archival_entries.n
) STRICT;

-- How far each pass has come.
CREATE TABLE dream_marks (
    pass TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    mark INTEGER NOT NULL,             -- dream_changes.seq, messages.id or items.id, by pass
    at TEXT NOT NULL,
    PRIMARY KEY (pass, agent_id, audience, trust)
) STRICT, WITHOUT ROWID;

CREATE TABLE dream_runs (
    id TEXT PRIMARY KEY,               -- 'drm_...'; sorts by time
    at TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('done', 'refused', 'undone')),
    notes TEXT NOT NULL DEFAULT '[]',  -- JSON array: what was left and why, in words of ours
    undone_at TEXT
) STRICT;
CREATE INDEX dream_runs_at ON dream_runs (at);

CREATE TABLE dream_tallies (
    run_id TEXT NOT NULL REFERENCES dream_runs (id) ON DELETE CASCADE,
    agent_id TEXT NOT NULL,
    living INTEGER NOT NULL,           -- entries before the run
    retired INTEGER NOT NULL,
    made INTEGER NOT NULL,
    refined INTEGER NOT NULL,
    PRIMARY KEY (run_id, agent_id)
) STRICT, WITHOUT ROWID;

-- What a run did to which entry, so that it can be undone.
CREATE TABLE dream_items (
    n INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES dream_runs (id) ON DELETE CASCADE,
    agent_id TEXT NOT NULL,
    pass TEXT NOT NULL,
    action TEXT NOT NULL CHECK (action IN ('made', 'merged', 'retired', 'refined')),
    entry_id TEXT NOT NULL,
    into_id TEXT,                      -- merged: the entry that was made of it
    before TEXT NOT NULL DEFAULT '{}', -- refined: category and tags as they were
    after TEXT NOT NULL,               -- digest of the entry as the run left it
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL
) STRICT;
CREATE INDEX dream_items_run ON dream_items (run_id);
CREATE INDEX dream_items_entry ON dream_items (entry_id);
CREATE TRIGGER dream_entry_new AFTER INSERT ON archival_entries
WHEN new.parent_entry_id IS NULL AND new.archived_at IS NULL BEGIN
    INSERT INTO dream_changes (n) VALUES (new.n);
END;
CREATE TRIGGER dream_entry_changed AFTER UPDATE OF content, audience, trust ON archival_entries
WHEN new.parent_entry_id IS NULL
    AND (new.content <> old.content OR new.audience <> old.audience OR new.trust <> old.trust) BEGIN
    DELETE FROM dream_changes WHERE n = new.n;
    INSERT INTO dream_changes (n) VALUES (new.n);
END;
CREATE TRIGGER dream_entry_gone AFTER DELETE ON archival_entries BEGIN
    DELETE FROM dream_changes WHERE n = old.n;
    DELETE FROM dream_items WHERE entry_id = old.id;
    UPDATE archival_entries SET superseded_by = NULL, archived_at = NULL WHERE superseded_by = old.id;
END;

-- -------------------------------------------------------------------------------------------------- Sessions and facts

-- Conversations without a gap of half an hour, of one agent in one place, as heard by one audience.
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,            -- the turn that it began with
    agent_id TEXT NOT NULL,
    place_id TEXT NOT NULL,
    start_position INTEGER NOT NULL,   -- ids of its first and last message
    end_position INTEGER NOT NULL,
    ended INTEGER NOT NULL DEFAULT 0,  -- 1: it is over, and what follows says what it was about
    what TEXT NOT NULL DEFAULT '',
    decisions TEXT NOT NULL DEFAULT '[]',  -- this and the next three: JSON arrays of texts
    files TEXT NOT NULL DEFAULT '[]',
    commits TEXT NOT NULL DEFAULT '[]',
    unfinished TEXT NOT NULL DEFAULT '[]',
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,            -- the lowest of its messages
    started_at TEXT NOT NULL,
    last_at TEXT NOT NULL              -- when its newest turn ended
) STRICT;
CREATE INDEX sessions_agent ON sessions (agent_id, audience, ended, last_at);
CREATE INDEX sessions_open ON sessions (last_at) WHERE ended = 0;
CREATE INDEX sessions_span ON sessions (place_id, end_position);

-- Short statements that agents learned without a model.
CREATE TABLE facts (
    id INTEGER PRIMARY KEY,            -- snowflake
    agent_id TEXT NOT NULL,            -- which agent learned it
    category TEXT NOT NULL
        CHECK (category IN ('user_preference', 'codebase_pattern', 'workflow_habit', 'lesson_learned')),
    fact TEXT NOT NULL,                -- as the oldest of its sources says it
    person_id TEXT,                    -- who said it, or whose turn brought it
    reinforcements INTEGER NOT NULL DEFAULT 1,  -- in how many sessions it was said
    superseded_by INTEGER,             -- a newer fact that says otherwise
    shared_at TEXT,                    -- since when it is known to all agents; NULL: to its own
    confirmed_by TEXT NOT NULL DEFAULT '[]',    -- JSON array: agents that learned the same, while it is shared
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,            -- the lowest of its sources
    created_at TEXT NOT NULL,
    last_seen TEXT NOT NULL,
    search_text TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX facts_agent ON facts (agent_id, audience, person_id);
CREATE INDEX facts_shared ON facts (audience) WHERE shared_at IS NOT NULL;
CREATE INDEX facts_person ON facts (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX facts_superseded ON facts (superseded_by) WHERE superseded_by IS NOT NULL;

CREATE VIRTUAL TABLE facts_fts USING fts5(search_text, content='facts', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO facts_fts (facts_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER facts_fts_insert AFTER INSERT ON facts BEGIN
    INSERT INTO facts_fts (rowid, search_text) VALUES (new.id, new.search_text);
END;
CREATE TRIGGER facts_fts_delete AFTER DELETE ON facts BEGIN
    INSERT INTO facts_fts (facts_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
END;
CREATE TRIGGER facts_fts_update AFTER UPDATE OF search_text ON facts WHEN new.search_text <> old.search_text BEGIN
    INSERT INTO facts_fts (facts_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
    INSERT INTO facts_fts (rowid, search_text) VALUES (new.id, new.search_text);
END;
CREATE TRIGGER facts_gone AFTER DELETE ON facts BEGIN
    UPDATE facts SET superseded_by = NULL WHERE superseded_by = old.id;
END;

CREATE TABLE fact_sources (
    id INTEGER PRIMARY KEY,            -- snowflake
    fact_id INTEGER NOT NULL REFERENCES facts(id) ON DELETE CASCADE,
    origin TEXT NOT NULL CHECK (origin IN ('said', 'tool', 'agent', 'hand')),
    session_id INTEGER NOT NULL,
    message_id INTEGER,                -- whose words it holds; NULL: by hand
    wording TEXT NOT NULL,
    search_text TEXT NOT NULL,
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX fact_sources_fact ON fact_sources (fact_id);
CREATE INDEX fact_sources_message ON fact_sources (message_id) WHERE message_id IS NOT NULL;
-- A fact goes with the last of its sources, and says what the oldest one left says.
CREATE TRIGGER fact_sources_gone AFTER DELETE ON fact_sources BEGIN
    DELETE FROM facts WHERE id = old.fact_id AND NOT EXISTS (SELECT 1 FROM fact_sources WHERE fact_id = old.fact_id);
    UPDATE facts SET
        fact = (SELECT wording FROM fact_sources WHERE fact_id = old.fact_id ORDER BY id LIMIT 1),
        search_text = (SELECT search_text FROM fact_sources WHERE fact_id = old.fact_id ORDER BY id LIMIT 1),
        reinforcements = (SELECT count(DISTINCT session_id) FROM fact_sources WHERE fact_id = old.fact_id),
        shared_at = iif((SELECT count(DISTINCT session_id) FROM fact_sources WHERE fact_id = old.fact_id) < 3,
            NULL, shared_at),
        last_seen = (SELECT max(at) FROM fact_sources WHERE fact_id = old.fact_id)
    WHERE id = old.fact_id;
END;
CREATE TRIGGER facts_message_changed AFTER UPDATE OF content, audience, deleted_at ON messages
WHEN new.content <> old.content OR new.audience <> old.audience OR new.deleted_at IS NOT old.deleted_at BEGIN
    DELETE FROM fact_sources WHERE message_id = old.id;
    UPDATE sessions SET ended = 0, what = '', decisions = '[]', files = '[]', commits = '[]', unfinished = '[]'
        WHERE place_id = old.place_id AND audience = old.audience
        AND end_position >= old.id AND start_position <= old.id;
END;
CREATE TRIGGER facts_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM fact_sources WHERE message_id = old.id;
    UPDATE sessions SET ended = 0, what = '', decisions = '[]', files = '[]', commits = '[]', unfinished = '[]'
        WHERE place_id = old.place_id AND audience = old.audience
        AND end_position >= old.id AND start_position <= old.id;
END;

-- --------------------------------------------------------------------------------------------------------------- Items

-- One store for what agents know beside entries and facts: summaries, working memory, notes, what projects taught, ...
CREATE TABLE items (
    id INTEGER PRIMARY KEY,            -- snowflake
    kind TEXT NOT NULL,
    text TEXT NOT NULL DEFAULT '',     -- what it says
    key TEXT NOT NULL DEFAULT '',      -- what it is found again by within its kind
    detail TEXT NOT NULL DEFAULT '{}', -- JSON object: what else its kind keeps
    strength INTEGER NOT NULL DEFAULT 1, -- how often it was found
    agent_id TEXT,                     -- whose it is; NULL: everybody's
    person_id TEXT,                    -- who said it, or whose words it holds
    place_id TEXT,
    turn_id INTEGER,                   -- in which it was made, or which it is about
    first_position INTEGER,            -- it is made of the messages of its audience from here ...
    last_position INTEGER,             -- ... to here: of one place, in the order of that conversation; else by id
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,            -- the lowest of its sources
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,          -- when it was said last
    valid_until TEXT,                  -- from then on it is never read again
    search_text TEXT NOT NULL DEFAULT '' -- '': search does not find it
) STRICT;
CREATE INDEX items_heard ON items (kind, audience, updated_at);
CREATE INDEX items_agent ON items (agent_id, kind, id) WHERE agent_id IS NOT NULL;
CREATE INDEX items_person ON items (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX items_place ON items (place_id, kind, id) WHERE place_id IS NOT NULL;
CREATE INDEX items_until ON items (valid_until) WHERE valid_until IS NOT NULL;
CREATE INDEX items_span ON items (audience, last_position) WHERE last_position IS NOT NULL;
CREATE INDEX items_key ON items (kind, key);
CREATE INDEX items_turn ON items (turn_id) WHERE turn_id IS NOT NULL;

CREATE VIRTUAL TABLE item_fts USING fts5(search_text, content='items', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO item_fts (item_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER item_fts_insert AFTER INSERT ON items BEGIN
    INSERT INTO item_fts (rowid, search_text) VALUES (new.id, new.search_text);
END;
-- An item goes from the index too, and an answer that was made from it keeps only that there was one.
CREATE TRIGGER items_gone AFTER DELETE ON items BEGIN
    INSERT INTO item_fts (item_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
    UPDATE turn_uses SET kind = 'gone', row_id = lower(hex(randomblob(8)))
        WHERE kind = 'summary' AND row_id = CAST(old.id AS TEXT);
END;

-- The messages whose words an item holds or is made of. It goes with any of them.
CREATE TABLE item_sources (
    item_id INTEGER NOT NULL REFERENCES items(id) ON DELETE CASCADE,
    message_id INTEGER NOT NULL,
    PRIMARY KEY (item_id, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX item_sources_message ON item_sources (message_id);
-- Words that are changed, taken back, or kept to fewer people take along what was made of them.
CREATE TRIGGER items_message_changed AFTER UPDATE OF content, audience, deleted_at ON messages
WHEN new.content <> old.content OR new.audience <> old.audience OR new.deleted_at IS NOT old.deleted_at BEGIN
    DELETE FROM items WHERE kind NOT IN ('working', 'handoff', 'note')
        AND id IN (SELECT item_id FROM item_sources WHERE message_id = old.id);
    DELETE FROM items WHERE audience = old.audience AND last_position >= old.id
        AND (place_id IS NULL OR place_id = old.place_id)
        AND iif(place_id IS NULL, old.id, coalesce(old.batch_id, old.id)) BETWEEN first_position AND last_position;
END;
-- What an agent keeps for a while, and its notes to others, are of a whole turn: they stay when a message is edited,
-- and go with any that goes.
CREATE TRIGGER items_turn_changed AFTER UPDATE OF audience, deleted_at ON messages
WHEN new.audience <> old.audience OR (new.deleted_at IS NOT NULL AND old.deleted_at IS NULL) BEGIN
    DELETE FROM items WHERE kind IN ('working', 'handoff', 'note') AND turn_id = old.batch_id;
    DELETE FROM items WHERE id IN (SELECT item_id FROM item_sources WHERE message_id = old.id);
END;
CREATE TRIGGER items_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM items WHERE id IN (SELECT item_id FROM item_sources WHERE message_id = old.id);
    DELETE FROM items WHERE kind IN ('working', 'handoff', 'note') AND turn_id = old.batch_id;
    DELETE FROM items WHERE audience = old.audience AND last_position >= old.id
        AND (place_id IS NULL OR place_id = old.place_id)
        AND iif(place_id IS NULL, old.id, coalesce(old.batch_id, old.id)) BETWEEN first_position AND last_position;
END;
-- A talk whose words change is judged anew, and one that is forgotten takes the judgement along.
CREATE TRIGGER items_session_changed AFTER UPDATE OF ended ON sessions WHEN new.ended = 0 AND old.ended = 1 BEGIN
    DELETE FROM items WHERE kind = 'evaluation' AND key = CAST(old.id AS TEXT);
END;
CREATE TRIGGER items_session_gone AFTER DELETE ON sessions BEGIN
    DELETE FROM items WHERE kind = 'evaluation' AND key = CAST(old.id AS TEXT);
END;

-- Which audience has been told of a note to another agent.
CREATE TABLE handoff_reads (
    note_id INTEGER NOT NULL REFERENCES items(id) ON DELETE CASCADE,
    audience TEXT NOT NULL,
    turn_id INTEGER NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (note_id, audience)
) STRICT, WITHOUT ROWID;

-- -------------------------------------------------------------------------------------------- Tasks, reminders, events

-- Tasks on a person's list, and those that agents share.
CREATE TABLE tasks (
    id INTEGER PRIMARY KEY,            -- snowflake
    title TEXT NOT NULL,
    notes TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'in_progress', 'done', 'cancelled')),
    priority TEXT NOT NULL DEFAULT 'medium' CHECK (priority IN ('low', 'medium', 'high', 'urgent')),
    parent_id INTEGER REFERENCES tasks(id) ON DELETE SET NULL,
    needs TEXT NOT NULL DEFAULT '[]',  -- JSON array: ids of tasks that have to be done before
    shared INTEGER NOT NULL DEFAULT 0, -- 1: agents share it; 0: it is on the list of its person
    assignee_id TEXT,                  -- of a shared one: an agent; NULL: anyone
    agent_id TEXT REFERENCES agents(id),  -- who wrote it down; NULL: a person, by command
    person_id TEXT,                    -- whose it is; of a shared one, whose turn it is from
    turn_id INTEGER,                   -- of a shared one: in which it was written; it goes with its messages
    message_id INTEGER,
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    due_at TEXT,
    done_at TEXT,
    fields TEXT NOT NULL DEFAULT '{}', -- JSON object: names of somebody's own, with their values
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    search_text TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX tasks_open ON tasks (status, id);
CREATE INDEX tasks_person ON tasks (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX tasks_parent ON tasks (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX tasks_turn ON tasks (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX tasks_message ON tasks (message_id) WHERE message_id IS NOT NULL;

CREATE VIRTUAL TABLE task_fts USING fts5(search_text, content='tasks', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO task_fts (task_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER task_fts_insert AFTER INSERT ON tasks BEGIN
    INSERT INTO task_fts (rowid, search_text) VALUES (new.id, new.search_text);
END;
CREATE TRIGGER task_fts_delete AFTER DELETE ON tasks BEGIN
    INSERT INTO task_fts (task_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
END;
CREATE TRIGGER task_fts_update AFTER UPDATE OF search_text ON tasks WHEN new.search_text <> old.search_text BEGIN
    INSERT INTO task_fts (task_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
    INSERT INTO task_fts (rowid, search_text) VALUES (new.id, new.search_text);
END;

CREATE TABLE reminders (
    id INTEGER PRIMARY KEY,            -- snowflake; its job is 'reminder:<id>'
    text TEXT NOT NULL,
    person_id TEXT,                    -- who is reminded
    agent_id TEXT REFERENCES agents(id),  -- who set it; NULL: the person, by command
    place_id TEXT NOT NULL,            -- where it is said
    audience TEXT NOT NULL,            -- who heard it being set: nobody else ever hears it
    trust INTEGER NOT NULL,
    trigger_json TEXT NOT NULL,        -- as of its job
    zone TEXT NOT NULL,                -- by whose clocks it was meant
    urgent INTEGER NOT NULL DEFAULT 0, -- quiet hours do not hold it back
    escalate_minutes INTEGER NOT NULL DEFAULT 0, -- said once more when nobody did anything about it; 0: not
    status TEXT NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'told', 'escalated', 'done', 'cancelled')),
    told_at TEXT,
    told_key TEXT,                     -- of the outbox row that said it last
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;
CREATE INDEX reminders_open ON reminders (status, id);
CREATE INDEX reminders_person ON reminders (person_id) WHERE person_id IS NOT NULL;

CREATE TABLE events (
    id INTEGER PRIMARY KEY,            -- snowflake
    title TEXT NOT NULL,
    notes TEXT NOT NULL DEFAULT '',
    starts_at TEXT NOT NULL,           -- the first time
    ends_at TEXT,
    trigger_json TEXT NOT NULL,        -- when it happens, as scheduler/triggers.py dumps it
    zone TEXT NOT NULL,                -- by whose clocks
    reminder_minutes INTEGER,          -- so long before it is said; NULL: not
    status TEXT NOT NULL DEFAULT 'planned' CHECK (status IN ('planned', 'cancelled')),
    agent_id TEXT REFERENCES agents(id),
    person_id TEXT,
    place_id TEXT NOT NULL,            -- where its reminder is said
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;
CREATE INDEX events_status ON events (status, starts_at);
CREATE INDEX events_person ON events (person_id) WHERE person_id IS NOT NULL;

-- What is done at a time, each once.
CREATE TABLE jobs (
    id TEXT PRIMARY KEY,               -- 'reminder:12', 'backup': who makes a job knows its id
    kind TEXT NOT NULL,                -- says what to do; the program has a handler for each
    payload TEXT NOT NULL DEFAULT '{}',-- JSON: ids for the handler, no words of people
    trigger_json TEXT NOT NULL,        -- when, as scheduler/triggers.py dumps it
    person_id TEXT,                    -- for whom it is
    audience TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'done', 'failed')),
    next_at TEXT,                      -- the planned time; NULL when there is none any more
    asked_at TEXT,                     -- somebody wants it run now
    held_until TEXT,                   -- somebody runs it, or a try failed: not looked at before that
    holder TEXT,                       -- who runs it
    grace_seconds REAL,                -- later than this it is skipped; NULL: however late
    attempts INTEGER NOT NULL DEFAULT 0, -- of the due time that is being tried
    last_due_at TEXT,
    last_run_at TEXT,
    last_outcome TEXT NOT NULL DEFAULT '',  -- 'run', 'late', 'skipped', 'failed'
    last_detail TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL,
    wake_at TEXT GENERATED ALWAYS AS (CASE
        WHEN held_until IS NOT NULL THEN held_until
        WHEN asked_at IS NOT NULL THEN asked_at
        WHEN status = 'active' THEN next_at END) VIRTUAL
) STRICT;
CREATE INDEX jobs_wake ON jobs (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX jobs_person ON jobs (person_id) WHERE person_id IS NOT NULL;

-- ------------------------------------------------------------------------------------------------------------ Activity

-- What was done, in words of ours. Words that agents give to tasks, handoffs and notes are the exception.
CREATE TABLE activity_events (
    id INTEGER PRIMARY KEY,            -- snowflake
    event_type TEXT NOT NULL CHECK (event_type IN ('agent_activated', 'agent_deactivated', 'message_received',
        'message_sent', 'tool_executed', 'memory_block_updated', 'file_accessed', 'task_assigned', 'handoff_initiated',
        'notable')),
    agent_id TEXT,                     -- NULL: a person by hand
    person_id TEXT,                    -- whose turn it was, or whom it is about
    place_id TEXT,
    turn_id INTEGER,
    message_id INTEGER,                -- the message that came or went: its words are read there, never copied here
    words TEXT NOT NULL,               -- what was done, after the agent's name
    details TEXT NOT NULL DEFAULT '{}', -- JSON object: the same for programs
    importance TEXT CHECK (importance IN ('low', 'medium', 'high', 'critical')),
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    at TEXT NOT NULL,
    search_text TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX activity_heard ON activity_events (audience, at);
CREATE INDEX activity_at ON activity_events (at);
CREATE INDEX activity_message ON activity_events (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX activity_turn ON activity_events (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX activity_person ON activity_events (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX activity_agent ON activity_events (agent_id, at);
CREATE INDEX activity_task ON activity_events (json_extract(details, '$.task'))
    WHERE json_extract(details, '$.task') IS NOT NULL;

CREATE VIRTUAL TABLE activity_fts USING fts5(search_text, content='activity_events', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO activity_fts (activity_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER activity_fts_insert AFTER INSERT ON activity_events WHEN new.search_text <> '' BEGIN
    INSERT INTO activity_fts (rowid, search_text) VALUES (new.id, new.search_text);
END;
CREATE TRIGGER activity_fts_delete AFTER DELETE ON activity_events WHEN old.search_text <> '' BEGIN
    INSERT INTO activity_fts (activity_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
END;
-- What the activity says of a shared task, such as what it was before a change, goes with the task; and a task that got
-- its words from a message goes with that, whoever wrote it down first.
CREATE TRIGGER task_gone AFTER DELETE ON tasks WHEN old.shared BEGIN
    DELETE FROM activity_events WHERE json_extract(details, '$.task') = '' || old.id;
END;
CREATE TRIGGER coordination_message_changed AFTER UPDATE OF deleted_at, audience ON messages
WHEN (new.deleted_at IS NOT NULL AND old.deleted_at IS NULL) OR new.audience <> old.audience BEGIN
    DELETE FROM tasks WHERE shared AND id IN (SELECT CAST(json_extract(e.details, '$.task') AS INTEGER)
        FROM activity_events e WHERE (e.message_id = old.id OR e.turn_id = old.batch_id) AND e.event_type = 'notable'
        AND EXISTS (SELECT 1 FROM json_tree(e.details, '$.before') WHERE key IN ('title', 'notes', 'fields')));
    DELETE FROM tasks WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM activity_events WHERE (message_id = old.id OR turn_id = old.batch_id)
        AND event_type IN ('task_assigned', 'handoff_initiated', 'notable');
END;
CREATE TRIGGER coordination_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM tasks WHERE shared AND id IN (SELECT CAST(json_extract(e.details, '$.task') AS INTEGER)
        FROM activity_events e WHERE (e.message_id = old.id OR e.turn_id = old.batch_id) AND e.event_type = 'notable'
        AND EXISTS (SELECT 1 FROM json_tree(e.details, '$.before') WHERE key IN ('title', 'notes', 'fields')));
    DELETE FROM tasks WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM activity_events WHERE (message_id = old.id OR turn_id = old.batch_id)
        AND event_type IN ('task_assigned', 'handoff_initiated', 'notable');
END;

-- When agents were active: one audience learns nothing about others.
CREATE TABLE agent_presence (
    agent_id TEXT NOT NULL,
    audience TEXT NOT NULL,
    last_active TEXT NOT NULL,
    active INTEGER NOT NULL DEFAULT 1, -- 0: deactivated since
    PRIMARY KEY (agent_id, audience)
) STRICT, WITHOUT ROWID;

-- ------------------------------------------------------------------------------------------------- Folders and sources

CREATE TABLE folders (
    id TEXT PRIMARY KEY,
    name TEXT UNIQUE NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    path_type TEXT NOT NULL CHECK (path_type IN ('local', 'virtual')),
    path_value TEXT NOT NULL DEFAULT '', -- local: the directory, with every symbolic link resolved
    audience TEXT NOT NULL,            -- who may hear of its content
    created_at TEXT NOT NULL,
    indexed_at TEXT,                   -- when an indexing last came to its end
    embedding_model TEXT NOT NULL DEFAULT '' -- '': that of the constellation; 'none': words alone
) STRICT;

CREATE TABLE folder_files (
    id TEXT PRIMARY KEY,
    folder_id TEXT NOT NULL REFERENCES folders(id) ON DELETE CASCADE,
    name TEXT NOT NULL,                -- the path inside the folder, with '/'
    content_type TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    modified INTEGER NOT NULL DEFAULT 0, -- local: when it last changed (ctime), in nanoseconds
    digest TEXT NOT NULL,              -- BLAKE2b of the content; '' where it was not read
    content BLOB,                      -- virtual folders alone
    people TEXT NOT NULL DEFAULT '[]', -- whose words it holds: who uploaded it, in whose turns it was written
    note TEXT NOT NULL DEFAULT '',     -- why it has no passages; '' when it has
    audience TEXT NOT NULL,            -- that of its folder
    trust INTEGER NOT NULL,
    uploaded_at TEXT NOT NULL,
    indexed_at TEXT NOT NULL,
    UNIQUE (folder_id, name)
) STRICT;

CREATE TABLE file_passages (
    n INTEGER PRIMARY KEY,
    id TEXT UNIQUE NOT NULL,
    file_id TEXT NOT NULL REFERENCES folder_files(id) ON DELETE CASCADE,
    folder_id TEXT NOT NULL,
    content TEXT NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    search_text TEXT NOT NULL,
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    created_at TEXT NOT NULL
) STRICT;
CREATE INDEX file_passages_file ON file_passages (file_id, n);
CREATE INDEX file_passages_folder ON file_passages (folder_id, n);

CREATE VIRTUAL TABLE passage_fts USING fts5(search_text, content='file_passages', content_rowid='n',
    tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO passage_fts (passage_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER passage_fts_insert AFTER INSERT ON file_passages BEGIN
    INSERT INTO passage_fts (rowid, search_text) VALUES (new.n, new.search_text);
END;
CREATE TRIGGER passage_fts_delete AFTER DELETE ON file_passages BEGIN
    INSERT INTO passage_fts (passage_fts, rowid, search_text) VALUES ('delete', old.n, old.search_text);
END;

CREATE TABLE folder_attachments (
    folder_id TEXT NOT NULL REFERENCES folders(id) ON DELETE CASCADE,
    agent_id TEXT NOT NULL,
    access TEXT NOT NULL CHECK (access IN ('read', 'read_write')),
    attached_at TEXT NOT NULL,
    PRIMARY KEY (folder_id, agent_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX folder_attachments_agent ON folder_attachments (agent_id);

-- What agents are told of that nobody says to them. A job looks at each (`source:<name>`), except webhooks.
CREATE TABLE data_sources (
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

-- ------------------------------------------------------------------------------------------------------------- Vectors

CREATE TABLE vector_models (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT UNIQUE NOT NULL,         -- identifies the vectors: those of two models cannot be compared
    dimension INTEGER NOT NULL,
    current INTEGER NOT NULL DEFAULT 0 -- 1 for the one that new vectors are of
) STRICT;

-- Vectors that may be compared and shown together.
CREATE TABLE vector_spaces (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again, so that no vector changes hands
    model_id INTEGER NOT NULL REFERENCES vector_models(id),
    kind TEXT NOT NULL,                -- one of KINDS in memory/search/vector_texts.py
    agent_id TEXT NOT NULL,            -- whose entries or blocks; '' for messages and passages
    audience TEXT NOT NULL,
    UNIQUE (model_id, kind, agent_id, audience)
) STRICT;

CREATE TABLE vectors (
    space_id INTEGER NOT NULL REFERENCES vector_spaces(id),
    row INTEGER NOT NULL,              -- messages.id, archival_entries.n, memory_blocks.n, ...
    part INTEGER NOT NULL,             -- long texts are embedded in parts
    bits BLOB NOT NULL,                -- the signs of the vector, by which candidates are found
    id INTEGER NOT NULL,               -- of its numbers
    PRIMARY KEY (space_id, row, part)
) STRICT, WITHOUT ROWID;

-- Apart from the signs, so that those of many vectors stand together.
CREATE TABLE vector_numbers (
    id INTEGER PRIMARY KEY,
    digits BLOB NOT NULL,              -- the numbers of the vector: see `to_digits` in memory/store/sqlite.py
    tokens BLOB                        -- the signs of the vectors of its words, where the model gives them
) STRICT;
CREATE TRIGGER vectors_gone AFTER DELETE ON vectors BEGIN
    DELETE FROM vector_numbers WHERE id = old.id;
END;
CREATE TRIGGER vector_spaces_empty AFTER DELETE ON vectors
WHEN NOT EXISTS (SELECT 1 FROM vectors WHERE space_id = old.space_id) BEGIN
    DELETE FROM vector_spaces WHERE id = old.space_id;
END;

-- Rows whose texts are embedded in the background. A vector is deleted when its row changes; so are those of the next
-- message, which were made with what was said before it.
CREATE TABLE vector_queue (
    kind TEXT NOT NULL,
    row INTEGER NOT NULL,
    failed INTEGER NOT NULL DEFAULT 0, -- times that the embedder refused this very text
    PRIMARY KEY (kind, row)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER vectors_message_new AFTER INSERT ON messages WHEN new.search_text <> '' BEGIN
    INSERT INTO vector_queue (kind, row) VALUES ('message', new.id) ON CONFLICT DO UPDATE SET failed = 0;
END;
CREATE TRIGGER vectors_message_changed AFTER UPDATE OF content, search_text, speaker, audience ON messages
WHEN new.content <> old.content OR new.search_text <> old.search_text OR new.speaker <> old.speaker
    OR new.audience <> old.audience BEGIN
    DELETE FROM vector_queue WHERE kind = 'message' AND row = old.id;
    DELETE FROM vectors WHERE row = old.id
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'message' AND audience = old.audience);
    INSERT INTO vector_queue (kind, row) SELECT 'message', new.id WHERE new.search_text <> '';
END;
CREATE TRIGGER vectors_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM vector_queue WHERE kind = 'message' AND row = old.id;
    DELETE FROM vectors WHERE row = old.id
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'message' AND audience = old.audience);
END;
CREATE TRIGGER vectors_entry_new AFTER INSERT ON archival_entries WHEN new.search_text <> '' BEGIN
    INSERT INTO vector_queue (kind, row) VALUES ('entry', new.n) ON CONFLICT DO UPDATE SET failed = 0;
END;
CREATE TRIGGER vectors_entry_changed
AFTER UPDATE OF content, search_text, audience, agent_id, archived_at, superseded_by ON archival_entries
WHEN new.content <> old.content OR new.search_text <> old.search_text OR new.audience <> old.audience
    OR new.agent_id <> old.agent_id OR new.archived_at IS NOT old.archived_at
    OR new.superseded_by IS NOT old.superseded_by BEGIN
    DELETE FROM vector_queue WHERE kind = 'entry' AND row = old.n;
    DELETE FROM vectors WHERE row = old.n
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'entry' AND audience = old.audience);
    INSERT INTO vector_queue (kind, row) SELECT 'entry', new.n
        WHERE new.archived_at IS NULL AND new.superseded_by IS NULL AND new.search_text <> '';
END;
CREATE TRIGGER vectors_entry_gone AFTER DELETE ON archival_entries BEGIN
    DELETE FROM vector_queue WHERE kind = 'entry' AND row = old.n;
    DELETE FROM vectors WHERE row = old.n
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'entry' AND audience = old.audience);
END;
CREATE TRIGGER vectors_block_new AFTER INSERT ON memory_blocks WHEN new.deleted_at IS NULL BEGIN
    INSERT INTO vector_queue (kind, row) VALUES ('block', new.n) ON CONFLICT DO UPDATE SET failed = 0;
END;
CREATE TRIGGER vectors_block_changed
AFTER UPDATE OF content, profile, label, description, audience, agent_id, deleted_at ON memory_blocks
WHEN new.content <> old.content OR new.profile <> old.profile OR new.label <> old.label
    OR new.description <> old.description OR new.audience <> old.audience OR new.agent_id <> old.agent_id
    OR new.deleted_at IS NOT old.deleted_at BEGIN
    DELETE FROM vector_queue WHERE kind = 'block' AND row = old.n;
    DELETE FROM vectors WHERE row = old.n
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'block' AND audience = old.audience);
    INSERT INTO vector_queue (kind, row) SELECT 'block', new.n WHERE new.deleted_at IS NULL;
END;
CREATE TRIGGER vectors_block_gone AFTER DELETE ON memory_blocks BEGIN
    DELETE FROM vector_queue WHERE kind = 'block' AND row = old.n;
    DELETE FROM vectors WHERE row = old.n
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'block' AND audience = old.audience);
END;
CREATE TRIGGER vectors_task_new AFTER INSERT ON tasks WHEN new.search_text <> '' BEGIN
    INSERT INTO vector_queue (kind, row) VALUES ('task', new.id) ON CONFLICT DO UPDATE SET failed = 0;
END;
CREATE TRIGGER vectors_task_changed AFTER UPDATE OF title, notes, audience ON tasks
WHEN new.title <> old.title OR new.notes <> old.notes OR new.audience <> old.audience BEGIN
    DELETE FROM vectors WHERE row = old.id
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'task' AND audience = old.audience);
    INSERT INTO vector_queue (kind, row) VALUES ('task', new.id) ON CONFLICT DO UPDATE SET failed = 0;
END;
CREATE TRIGGER vectors_task_gone AFTER DELETE ON tasks BEGIN
    DELETE FROM vector_queue WHERE kind = 'task' AND row = old.id;
    DELETE FROM vectors WHERE row = old.id
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'task' AND audience = old.audience);
END;
CREATE TRIGGER vectors_passage_new AFTER INSERT ON file_passages
WHEN new.search_text <> '' AND (SELECT embedding_model FROM folders WHERE id = new.folder_id) IS NOT 'none' BEGIN
    INSERT INTO vector_queue (kind, row) VALUES ('passage', new.n) ON CONFLICT DO UPDATE SET failed = 0;
END;
CREATE TRIGGER vectors_passage_changed AFTER UPDATE OF audience ON file_passages WHEN new.audience <> old.audience BEGIN
    DELETE FROM vectors WHERE row = old.n
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'passage' AND audience = old.audience);
    INSERT INTO vector_queue (kind, row)
    SELECT 'passage', new.n FROM folders WHERE id = new.folder_id AND embedding_model <> 'none'
    ON CONFLICT DO UPDATE SET failed = 0;
END;
CREATE TRIGGER vectors_passage_gone AFTER DELETE ON file_passages BEGIN
    DELETE FROM vector_queue WHERE kind = 'passage' AND row = old.n;
    DELETE FROM vectors WHERE row = old.n
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'passage' AND audience = old.audience);
END;
CREATE TRIGGER vectors_folder_changed AFTER UPDATE OF embedding_model ON folders
WHEN new.embedding_model <> old.embedding_model BEGIN
    DELETE FROM vector_queue WHERE kind = 'passage' AND row IN (SELECT n FROM file_passages WHERE folder_id = new.id);
    DELETE FROM vectors WHERE row IN (SELECT n FROM file_passages WHERE folder_id = new.id)
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'passage');
    INSERT INTO vector_queue (kind, row) SELECT 'passage', n FROM file_passages
    WHERE folder_id = new.id AND search_text <> '' AND new.embedding_model <> 'none';
END;

-- ------------------------------------------------------------------------------------------------ Erasures and imports

CREATE TABLE erasures (
    id INTEGER PRIMARY KEY,            -- that of the row in global.db
    person_id TEXT NOT NULL,
    before TEXT NOT NULL,              -- JSON object: rows by store
    answers INTEGER NOT NULL,          -- messages of agents that were emptied because they held the person's words
    at TEXT NOT NULL
) STRICT;

CREATE TABLE import_audit (
    id INTEGER PRIMARY KEY,            -- snowflake
    source TEXT NOT NULL,              -- 'car', 'v1', 'letta', 'chatgpt', 'discord', 'markdown'
    origin TEXT NOT NULL,              -- of which file: the CID of its root, or its digest
    record TEXT NOT NULL,              -- which record of it: a table, or the id that it has there
    outcome TEXT NOT NULL CHECK (outcome IN ('carried', 'changed', 'refused')),
    reason TEXT NOT NULL DEFAULT '',   -- words of ours
    became TEXT NOT NULL DEFAULT '',   -- the row that it became: 'messages 123'
    audience TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX import_audit_record ON import_audit (source, record);
CREATE INDEX import_audit_origin ON import_audit (origin);
