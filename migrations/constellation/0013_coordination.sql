-- What agents know of each other: what happened, who is there, what they assign, hand over and note for all.
-- A row that holds words of people names the turn and the message they came from, and goes with them.

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

CREATE VIRTUAL TABLE activity_fts USING fts5(search_text, content='activity_events', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO activity_fts (activity_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER activity_fts_insert AFTER INSERT ON activity_events WHEN new.search_text <> '' BEGIN
    INSERT INTO activity_fts (rowid, search_text) VALUES (new.id, new.search_text);
END;
CREATE TRIGGER activity_fts_delete AFTER DELETE ON activity_events WHEN old.search_text <> '' BEGIN
    INSERT INTO activity_fts (activity_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
END;

-- When an agent had its last turn, by who heard it.
CREATE TABLE agent_presence (
    agent_id TEXT NOT NULL,
    audience TEXT NOT NULL,
    last_active TEXT NOT NULL,
    active INTEGER NOT NULL DEFAULT 1, -- 0: deactivated since
    PRIMARY KEY (agent_id, audience)
) STRICT, WITHOUT ROWID;
-- When the agent of a turn had its last turn before, as far as those who hear this one may know; NULL: never.
ALTER TABLE turns ADD COLUMN away_since TEXT;

CREATE TABLE coordination_tasks (
    id TEXT PRIMARY KEY,               -- 'task_...'; sorts by time
    description TEXT NOT NULL,
    assigned_to TEXT,                  -- an agent; NULL: anyone
    assigned_by TEXT,                  -- an agent; NULL: a person by hand
    status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'in_progress', 'completed', 'cancelled')),
    priority TEXT NOT NULL DEFAULT 'medium' CHECK (priority IN ('low', 'medium', 'high', 'critical')),
    person_id TEXT,
    turn_id INTEGER,
    message_id INTEGER,
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;
CREATE INDEX coordination_tasks_open ON coordination_tasks (audience, id) WHERE status IN ('pending', 'in_progress');
CREATE INDEX coordination_tasks_turn ON coordination_tasks (turn_id) WHERE turn_id IS NOT NULL;

CREATE TABLE handoff_notes (
    id TEXT PRIMARY KEY,               -- 'hand_...'; sorts by time
    from_agent TEXT,                   -- NULL: a person by hand
    to_agent TEXT,                     -- NULL: for anyone
    content TEXT NOT NULL,
    person_id TEXT,
    turn_id INTEGER,
    message_id INTEGER,
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    created_at TEXT NOT NULL
) STRICT;
CREATE INDEX handoff_notes_heard ON handoff_notes (audience, id);
CREATE INDEX handoff_notes_turn ON handoff_notes (turn_id) WHERE turn_id IS NOT NULL;

-- A note is read for those who heard the turn in which it was read, and for nobody else.
CREATE TABLE handoff_reads (
    note_id TEXT NOT NULL REFERENCES handoff_notes(id) ON DELETE CASCADE,
    audience TEXT NOT NULL,
    turn_id INTEGER NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (note_id, audience)
) STRICT, WITHOUT ROWID;

-- What is worth keeping when activity is forgotten: decisions, and what agents note for all.
CREATE TABLE notable_events (
    id TEXT PRIMARY KEY,               -- 'note_...'; sorts by time
    event_type TEXT NOT NULL,          -- 'note'
    description TEXT NOT NULL,
    agents_involved TEXT NOT NULL DEFAULT '[]', -- JSON array of agent ids; empty: a person by hand
    importance TEXT NOT NULL CHECK (importance IN ('low', 'medium', 'high', 'critical')),
    person_id TEXT,
    turn_id INTEGER,
    message_id INTEGER,
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX notable_events_heard ON notable_events (audience, at);
CREATE INDEX notable_events_turn ON notable_events (turn_id) WHERE turn_id IS NOT NULL;

-- Words that are taken back, or kept to fewer people, take along what was noted from them.
CREATE TRIGGER coordination_message_changed AFTER UPDATE OF deleted_at, audience ON messages
WHEN (new.deleted_at IS NOT NULL AND old.deleted_at IS NULL) OR new.audience <> old.audience BEGIN
    DELETE FROM coordination_tasks WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM handoff_notes WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM notable_events WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM activity_events WHERE (message_id = old.id OR turn_id = old.batch_id)
        AND event_type IN ('task_assigned', 'handoff_initiated', 'notable');
END;
CREATE TRIGGER coordination_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM coordination_tasks WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM handoff_notes WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM notable_events WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM activity_events WHERE (message_id = old.id OR turn_id = old.batch_id)
        AND event_type IN ('task_assigned', 'handoff_initiated', 'notable');
END;
CREATE INDEX coordination_tasks_message ON coordination_tasks (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX handoff_notes_message ON handoff_notes (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX notable_events_message ON notable_events (message_id) WHERE message_id IS NOT NULL;
