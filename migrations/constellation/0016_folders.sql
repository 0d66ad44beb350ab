-- Folders: files that agents may read, and write where the owner allows it. See docs/folders.md.

CREATE TABLE folders (
    id TEXT PRIMARY KEY,
    name TEXT UNIQUE NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    path_type TEXT NOT NULL CHECK (path_type IN ('local', 'virtual')),
    path_value TEXT NOT NULL DEFAULT '', -- local: the directory, with every symbolic link resolved
    audience TEXT NOT NULL,            -- who may hear of its content
    created_at TEXT NOT NULL,
    indexed_at TEXT                    -- when an indexing last came to its end
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

CREATE TABLE folder_attachments (
    folder_id TEXT NOT NULL REFERENCES folders(id) ON DELETE CASCADE,
    agent_id TEXT NOT NULL,
    access TEXT NOT NULL CHECK (access IN ('read', 'read_write')),
    attached_at TEXT NOT NULL,
    PRIMARY KEY (folder_id, agent_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX folder_attachments_agent ON folder_attachments (agent_id);

CREATE VIRTUAL TABLE passage_fts USING fts5(search_text, content='file_passages', content_rowid='n', tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO passage_fts (passage_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER passage_fts_insert AFTER INSERT ON file_passages BEGIN
    INSERT INTO passage_fts (rowid, search_text) VALUES (new.n, new.search_text);
END;
CREATE TRIGGER passage_fts_delete AFTER DELETE ON file_passages BEGIN
    INSERT INTO passage_fts (passage_fts, rowid, search_text) VALUES ('delete', old.n, old.search_text);
END;

-- Vectors of passages. A passage never changes its words: a changed file gets new ones.
CREATE TRIGGER vectors_passage_new AFTER INSERT ON file_passages WHEN new.search_text <> '' BEGIN
    INSERT INTO vector_queue (kind, row) VALUES ('passage', new.n) ON CONFLICT DO UPDATE SET failed = 0;
END;
CREATE TRIGGER vectors_passage_changed AFTER UPDATE OF audience ON file_passages WHEN new.audience <> old.audience BEGIN
    DELETE FROM vectors WHERE kind = 'passage' AND row = old.n;
    INSERT INTO vector_queue (kind, row) VALUES ('passage', new.n) ON CONFLICT DO UPDATE SET failed = 0;
END;
CREATE TRIGGER vectors_passage_gone AFTER DELETE ON file_passages BEGIN
    DELETE FROM vector_queue WHERE kind = 'passage' AND row = old.n;
    DELETE FROM vectors WHERE kind = 'passage' AND row = old.n;
END;

-- The kinds of a space were fixed in a CHECK, which only a new table can change; its rows keep their numbers.
PRAGMA defer_foreign_keys = ON;
CREATE TABLE vector_spaces_kept AS SELECT * FROM vector_spaces;
CREATE TABLE vector_spaces_last AS SELECT seq FROM sqlite_sequence WHERE name = 'vector_spaces';
DROP TABLE vector_spaces;
CREATE TABLE vector_spaces (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again, so that no vector changes hands
    model_id INTEGER NOT NULL REFERENCES vector_models(id),
    kind TEXT NOT NULL,                -- one of KINDS in memory/vector_texts.py
    view TEXT NOT NULL,                -- what of the row was embedded: 'own', or 'window' with what was said before it
    agent_id TEXT NOT NULL,            -- whose entries or blocks; '' for messages and passages
    audience TEXT NOT NULL,
    UNIQUE (model_id, kind, view, agent_id, audience)
) STRICT;
INSERT INTO vector_spaces SELECT * FROM vector_spaces_kept;
DELETE FROM sqlite_sequence WHERE name = 'vector_spaces';
INSERT INTO sqlite_sequence (name, seq) SELECT 'vector_spaces', seq FROM vector_spaces_last;
DROP TABLE vector_spaces_kept;
DROP TABLE vector_spaces_last;
