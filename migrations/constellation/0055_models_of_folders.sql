-- A folder may have an embedding model of its own: '' is that of the constellation, 'none' stands for words alone.
ALTER TABLE folders ADD COLUMN embedding_model TEXT NOT NULL DEFAULT '';

DROP TRIGGER vectors_passage_new;
CREATE TRIGGER vectors_passage_new AFTER INSERT ON file_passages
WHEN new.search_text <> '' AND (SELECT embedding_model FROM folders WHERE id = new.folder_id) IS NOT 'none' BEGIN
    INSERT INTO vector_queue (kind, row) VALUES ('passage', new.n) ON CONFLICT DO UPDATE SET failed = 0;
END;

DROP TRIGGER vectors_passage_changed;
CREATE TRIGGER vectors_passage_changed AFTER UPDATE OF audience ON file_passages WHEN new.audience <> old.audience BEGIN
    DELETE FROM vectors WHERE kind = 'passage' AND row = old.n;
    INSERT INTO vector_queue (kind, row)
    SELECT 'passage', new.n FROM folders WHERE id = new.folder_id AND embedding_model <> 'none'
    ON CONFLICT DO UPDATE SET failed = 0;
END;

CREATE TRIGGER vectors_folder_changed AFTER UPDATE OF embedding_model ON folders
WHEN new.embedding_model <> old.embedding_model BEGIN
    DELETE FROM vector_queue WHERE kind = 'passage' AND row IN (SELECT n FROM file_passages WHERE folder_id = new.id);
    DELETE FROM vectors WHERE kind = 'passage' AND row IN (SELECT n FROM file_passages WHERE folder_id = new.id);
    INSERT INTO vector_queue (kind, row) SELECT 'passage', n FROM file_passages
    WHERE folder_id = new.id AND search_text <> '' AND new.embedding_model <> 'none';
END;
