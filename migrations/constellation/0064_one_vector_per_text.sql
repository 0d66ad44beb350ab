-- A message is embedded alone, once. All vectors are made again in the background, newest first: no model is current, so that the next start queues every row.

UPDATE vector_models SET current = 0;
INSERT INTO vector_queue (kind, row) SELECT 'passage', p.n FROM file_passages p JOIN folders f ON f.id = p.folder_id
    WHERE p.search_text <> '' AND f.embedding_model NOT IN ('', 'none') ON CONFLICT DO UPDATE SET failed = 0;
DROP TABLE vectors;
DROP TABLE vector_spaces;

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
    id INTEGER PRIMARY KEY,
    space_id INTEGER NOT NULL REFERENCES vector_spaces(id),
    kind TEXT NOT NULL,
    row INTEGER NOT NULL,              -- messages.id, archival_entries.n, memory_blocks.n, ...
    part INTEGER NOT NULL,             -- long texts are embedded in parts
    bits BLOB NOT NULL,                -- the signs of the vector, by which candidates are found
    vector BLOB NOT NULL,              -- signed bytes, scaled so that the largest is at one end
    tokens BLOB                        -- the signs of the vectors of its words, where the model gives them
) STRICT;
CREATE INDEX vectors_near ON vectors (space_id, row, part, bits);
CREATE INDEX vectors_row ON vectors (row, kind);
CREATE TRIGGER vector_spaces_empty AFTER DELETE ON vectors
WHEN NOT EXISTS (SELECT 1 FROM vectors WHERE space_id = old.space_id) BEGIN
    DELETE FROM vector_spaces WHERE id = old.space_id;
END;

DROP TRIGGER vectors_message_changed;
CREATE TRIGGER vectors_message_changed AFTER UPDATE OF content, search_text, speaker, audience ON messages
WHEN new.content <> old.content OR new.search_text <> old.search_text OR new.speaker <> old.speaker
    OR new.audience <> old.audience BEGIN
    DELETE FROM vector_queue WHERE kind = 'message' AND row = old.id;
    DELETE FROM vectors WHERE kind = 'message' AND row = old.id;
    INSERT INTO vector_queue (kind, row) SELECT 'message', new.id WHERE new.search_text <> '';
END;
DROP TRIGGER vectors_message_gone;
CREATE TRIGGER vectors_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM vector_queue WHERE kind = 'message' AND row = old.id;
    DELETE FROM vectors WHERE kind = 'message' AND row = old.id;
END;
