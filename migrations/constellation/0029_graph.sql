-- Who and what entries speak of, and how these belong together: read out of entries by upkeep, and gone with them.

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
