-- A vector takes half a byte a number, and its signs are stored once, in the order in which they are searched. All vectors
-- are made again in the background, newest first: no model is current, so that the next start queues every row.

UPDATE vector_models SET current = 0;
INSERT INTO vector_queue (kind, row) SELECT 'passage', p.n FROM file_passages p JOIN folders f ON f.id = p.folder_id
    WHERE p.search_text <> '' AND f.embedding_model NOT IN ('', 'none') ON CONFLICT DO UPDATE SET failed = 0;
DROP TABLE vectors;
DELETE FROM vector_spaces;

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

-- The vectors of a row are found by its kind and audience.

DROP TRIGGER vectors_message_changed;
CREATE TRIGGER vectors_message_changed AFTER UPDATE OF content, search_text, speaker, audience ON messages
WHEN new.content <> old.content OR new.search_text <> old.search_text OR new.speaker <> old.speaker
    OR new.audience <> old.audience BEGIN
    DELETE FROM vector_queue WHERE kind = 'message' AND row = old.id;
    DELETE FROM vectors WHERE row = old.id
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'message' AND audience = old.audience);
    INSERT INTO vector_queue (kind, row) SELECT 'message', new.id WHERE new.search_text <> '';
END;
DROP TRIGGER vectors_message_gone;
CREATE TRIGGER vectors_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM vector_queue WHERE kind = 'message' AND row = old.id;
    DELETE FROM vectors WHERE row = old.id
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'message' AND audience = old.audience);
END;
DROP TRIGGER vectors_entry_changed;
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
DROP TRIGGER vectors_entry_gone;
CREATE TRIGGER vectors_entry_gone AFTER DELETE ON archival_entries BEGIN
    DELETE FROM vector_queue WHERE kind = 'entry' AND row = old.n;
    DELETE FROM vectors WHERE row = old.n
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'entry' AND audience = old.audience);
END;
DROP TRIGGER vectors_block_changed;
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
DROP TRIGGER vectors_block_gone;
CREATE TRIGGER vectors_block_gone AFTER DELETE ON memory_blocks BEGIN
    DELETE FROM vector_queue WHERE kind = 'block' AND row = old.n;
    DELETE FROM vectors WHERE row = old.n
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'block' AND audience = old.audience);
END;
DROP TRIGGER vectors_task_changed;
CREATE TRIGGER vectors_task_changed AFTER UPDATE OF title, notes, audience ON tasks
WHEN new.title <> old.title OR new.notes <> old.notes OR new.audience <> old.audience BEGIN
    DELETE FROM vectors WHERE row = old.id
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'task' AND audience = old.audience);
    INSERT INTO vector_queue (kind, row) VALUES ('task', new.id) ON CONFLICT DO UPDATE SET failed = 0;
END;
DROP TRIGGER vectors_task_gone;
CREATE TRIGGER vectors_task_gone AFTER DELETE ON tasks BEGIN
    DELETE FROM vector_queue WHERE kind = 'task' AND row = old.id;
    DELETE FROM vectors WHERE row = old.id
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'task' AND audience = old.audience);
END;
DROP TRIGGER vectors_passage_changed;
CREATE TRIGGER vectors_passage_changed AFTER UPDATE OF audience ON file_passages WHEN new.audience <> old.audience BEGIN
    DELETE FROM vectors WHERE row = old.n
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'passage' AND audience = old.audience);
    INSERT INTO vector_queue (kind, row)
    SELECT 'passage', new.n FROM folders WHERE id = new.folder_id AND embedding_model <> 'none'
    ON CONFLICT DO UPDATE SET failed = 0;
END;
DROP TRIGGER vectors_passage_gone;
CREATE TRIGGER vectors_passage_gone AFTER DELETE ON file_passages BEGIN
    DELETE FROM vector_queue WHERE kind = 'passage' AND row = old.n;
    DELETE FROM vectors WHERE row = old.n
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'passage' AND audience = old.audience);
END;
DROP TRIGGER vectors_folder_changed;
CREATE TRIGGER vectors_folder_changed AFTER UPDATE OF embedding_model ON folders
WHEN new.embedding_model <> old.embedding_model BEGIN
    DELETE FROM vector_queue WHERE kind = 'passage' AND row IN (SELECT n FROM file_passages WHERE folder_id = new.id);
    DELETE FROM vectors WHERE row IN (SELECT n FROM file_passages WHERE folder_id = new.id)
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'passage');
    INSERT INTO vector_queue (kind, row) SELECT 'passage', n FROM file_passages
    WHERE folder_id = new.id AND search_text <> '' AND new.embedding_model <> 'none';
END;
