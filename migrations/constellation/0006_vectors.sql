-- Search by meaning: vectors of messages, archival entries and blocks, for one embedding model at a time.
-- A vector stands only as long as its row says what it was made from, to whom it was said then: triggers take it away
-- with its row and at every change, and queue the row to be embedded anew. Nothing here is needed to read the file:
-- all of it can be made again.

CREATE TABLE vector_models (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT UNIQUE NOT NULL,         -- identifies the vectors: those of two models cannot be compared
    dimension INTEGER NOT NULL,
    current INTEGER NOT NULL DEFAULT 0 -- 1 for the one that new vectors are of
) STRICT;

-- Who may find a vector: a query chooses its spaces by the audience, and no other vector is looked at.
CREATE TABLE vector_spaces (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again, so that no vector changes hands
    model_id INTEGER NOT NULL REFERENCES vector_models(id),
    kind TEXT NOT NULL CHECK (kind IN ('entry', 'message', 'block')),
    view TEXT NOT NULL,                -- what of the row was embedded: 'own', or 'window' with what was said before it
    agent_id TEXT NOT NULL,            -- whose entries or blocks; '' for messages
    audience TEXT NOT NULL,
    UNIQUE (model_id, kind, view, agent_id, audience)
) STRICT;

CREATE TABLE vectors (
    id INTEGER PRIMARY KEY,
    space_id INTEGER NOT NULL REFERENCES vector_spaces(id),
    kind TEXT NOT NULL,
    row INTEGER NOT NULL,              -- messages.id, archival_entries.n, memory_blocks.n
    part INTEGER NOT NULL,             -- long texts are embedded in parts
    bits BLOB NOT NULL,                -- the signs of the vector, by which candidates are found
    vector BLOB NOT NULL               -- float32, of length 1
) STRICT;
CREATE INDEX vectors_near ON vectors (space_id, row, part, bits); -- candidates are looked for in here alone
CREATE INDEX vectors_row ON vectors (row, kind);

-- A space is named after an audience, which may be a person: it goes with its last vector.
CREATE TRIGGER vector_spaces_empty AFTER DELETE ON vectors
WHEN NOT EXISTS (SELECT 1 FROM vectors WHERE space_id = old.space_id) BEGIN
    DELETE FROM vector_spaces WHERE id = old.space_id;
END;

-- What has to be embedded.
CREATE TABLE vector_queue (
    kind TEXT NOT NULL,
    row INTEGER NOT NULL,
    failed INTEGER NOT NULL DEFAULT 0, -- times that the embedder refused this very text
    PRIMARY KEY (kind, row)
) STRICT, WITHOUT ROWID;

INSERT INTO vector_queue (kind, row) SELECT 'message', id FROM messages WHERE search_text <> '';
INSERT INTO vector_queue (kind, row) SELECT 'entry', n FROM archival_entries
    WHERE archived_at IS NULL AND superseded_by IS NULL AND search_text <> '';
INSERT INTO vector_queue (kind, row) SELECT 'block', n FROM memory_blocks WHERE deleted_at IS NULL;

CREATE TRIGGER vectors_message_new AFTER INSERT ON messages WHEN new.search_text <> '' BEGIN
    INSERT INTO vector_queue (kind, row) VALUES ('message', new.id) ON CONFLICT DO UPDATE SET failed = 0;
END;
-- The next message of the same audience has been embedded together with this one.
CREATE TRIGGER vectors_message_changed AFTER UPDATE OF content, search_text, speaker, audience ON messages
WHEN new.content <> old.content OR new.search_text <> old.search_text OR new.speaker <> old.speaker OR new.audience <> old.audience BEGIN
    DELETE FROM vector_queue WHERE kind = 'message' AND row = old.id;
    DELETE FROM vectors WHERE kind = 'message' AND row IN (old.id,
        (SELECT id FROM messages WHERE place_id = old.place_id AND id > old.id AND audience = old.audience AND search_text <> ''
            ORDER BY id LIMIT 1),
        (SELECT id FROM messages WHERE place_id = old.place_id AND id > old.id AND audience = new.audience AND search_text <> ''
            ORDER BY id LIMIT 1));
    INSERT INTO vector_queue (kind, row) SELECT 'message', id FROM messages WHERE search_text <> '' AND id IN (old.id,
        (SELECT id FROM messages WHERE place_id = old.place_id AND id > old.id AND audience = old.audience AND search_text <> ''
            ORDER BY id LIMIT 1),
        (SELECT id FROM messages WHERE place_id = old.place_id AND id > old.id AND audience = new.audience AND search_text <> ''
            ORDER BY id LIMIT 1))
        ON CONFLICT DO UPDATE SET failed = 0;
END;
CREATE TRIGGER vectors_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM vector_queue WHERE kind = 'message' AND row = old.id;
    DELETE FROM vectors WHERE kind = 'message' AND row IN (old.id,
        (SELECT id FROM messages WHERE place_id = old.place_id AND id > old.id AND audience = old.audience AND search_text <> ''
            ORDER BY id LIMIT 1));
    INSERT INTO vector_queue (kind, row) SELECT 'message', id FROM messages WHERE id =
        (SELECT id FROM messages WHERE place_id = old.place_id AND id > old.id AND audience = old.audience AND search_text <> ''
            ORDER BY id LIMIT 1)
        ON CONFLICT DO UPDATE SET failed = 0;
END;

-- An entry that is kept in passages has no search text of its own.
CREATE TRIGGER vectors_entry_new AFTER INSERT ON archival_entries WHEN new.search_text <> '' BEGIN
    INSERT INTO vector_queue (kind, row) VALUES ('entry', new.n) ON CONFLICT DO UPDATE SET failed = 0;
END;
CREATE TRIGGER vectors_entry_changed AFTER UPDATE OF content, search_text, audience, agent_id, archived_at, superseded_by ON archival_entries
WHEN new.content <> old.content OR new.search_text <> old.search_text OR new.audience <> old.audience OR new.agent_id <> old.agent_id
    OR new.archived_at IS NOT old.archived_at OR new.superseded_by IS NOT old.superseded_by BEGIN
    DELETE FROM vector_queue WHERE kind = 'entry' AND row = old.n;
    DELETE FROM vectors WHERE kind = 'entry' AND row = old.n;
    INSERT INTO vector_queue (kind, row) SELECT 'entry', new.n
        WHERE new.archived_at IS NULL AND new.superseded_by IS NULL AND new.search_text <> '';
END;
CREATE TRIGGER vectors_entry_gone AFTER DELETE ON archival_entries BEGIN
    DELETE FROM vector_queue WHERE kind = 'entry' AND row = old.n;
    DELETE FROM vectors WHERE kind = 'entry' AND row = old.n;
END;

CREATE TRIGGER vectors_block_new AFTER INSERT ON memory_blocks WHEN new.deleted_at IS NULL BEGIN
    INSERT INTO vector_queue (kind, row) VALUES ('block', new.n) ON CONFLICT DO UPDATE SET failed = 0;
END;
CREATE TRIGGER vectors_block_changed AFTER UPDATE OF content, profile, label, description, audience, agent_id, deleted_at ON memory_blocks
WHEN new.content <> old.content OR new.profile <> old.profile OR new.label <> old.label OR new.description <> old.description
    OR new.audience <> old.audience OR new.agent_id <> old.agent_id OR new.deleted_at IS NOT old.deleted_at BEGIN
    DELETE FROM vector_queue WHERE kind = 'block' AND row = old.n;
    DELETE FROM vectors WHERE kind = 'block' AND row = old.n;
    INSERT INTO vector_queue (kind, row) SELECT 'block', new.n WHERE new.deleted_at IS NULL;
END;
CREATE TRIGGER vectors_block_gone AFTER DELETE ON memory_blocks BEGIN
    DELETE FROM vector_queue WHERE kind = 'block' AND row = old.n;
    DELETE FROM vectors WHERE kind = 'block' AND row = old.n;
END;
