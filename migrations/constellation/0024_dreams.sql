-- Upkeep of archival entries while nobody talks ("dreams"), and what it learns from: what people said of our answers.

-- Entries that are new or whose words changed, in that order. A pass has dealt with what stands at or before its mark.
CREATE TABLE dream_changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    n INTEGER NOT NULL UNIQUE          -- archival_entries.n
) STRICT;
INSERT INTO dream_changes (n) SELECT n FROM archival_entries
    WHERE parent_entry_id IS NULL AND archived_at IS NULL AND superseded_by IS NULL ORDER BY n;

CREATE TABLE dream_marks (
    pass TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    mark INTEGER NOT NULL,             -- dream_changes.seq, messages.id or feedback.id, by pass
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

-- What people said of an answer, and what failed in making it. Whose words they are is read where they stand.
CREATE TABLE feedback (
    id INTEGER PRIMARY KEY,            -- sorts by time
    kind TEXT NOT NULL CHECK (kind IN ('correction', 'thumbs_up', 'thumbs_down', 'tool_failure')),
    agent_id TEXT NOT NULL,
    person_id TEXT,
    place_id TEXT NOT NULL,
    turn_id INTEGER,                   -- whose answer it is about
    message_id INTEGER,                -- correction: what the person said
    tool TEXT NOT NULL DEFAULT '',     -- tool_failure: its name
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX feedback_agent ON feedback (agent_id, id);
CREATE INDEX feedback_message ON feedback (message_id) WHERE message_id IS NOT NULL;

CREATE INDEX archival_parent ON archival_entries (parent_entry_id) WHERE parent_entry_id IS NOT NULL; -- every change of an entry looks for its passages
CREATE INDEX archival_superseded ON archival_entries (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX archival_retired ON archival_entries (archived_at) WHERE archived_at IS NOT NULL;

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
-- What something was merged into is taken away: what it was made of stands again, unless it goes as well.
CREATE TRIGGER dream_entry_gone AFTER DELETE ON archival_entries BEGIN
    DELETE FROM dream_changes WHERE n = old.n;
    DELETE FROM dream_items WHERE entry_id = old.id;
    UPDATE archival_entries SET superseded_by = NULL, archived_at = NULL WHERE superseded_by = old.id;
END;

CREATE TRIGGER feedback_message_changed AFTER UPDATE OF content, audience, deleted_at ON messages
WHEN new.content <> old.content OR new.audience <> old.audience OR new.deleted_at IS NOT old.deleted_at BEGIN
    DELETE FROM feedback WHERE message_id = old.id;
END;
CREATE TRIGGER feedback_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM feedback WHERE message_id = old.id;
END;
