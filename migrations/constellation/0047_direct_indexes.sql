-- Words of blocks and of events are indexed by the commit that brings them; what still waited is indexed here.
INSERT INTO activity_fts (rowid, search_text)
    SELECT id, search_text FROM activity_events WHERE id IN (SELECT row FROM index_queue WHERE kind = 'event');
UPDATE memory_blocks SET search_text = carina_index_text(label || ' ' || description || ' ' || content)
    WHERE deleted_at IS NULL AND n IN (SELECT row FROM index_queue WHERE kind = 'block');

DROP TRIGGER block_queued;
DROP TRIGGER block_unqueued;
DROP TRIGGER activity_queued;
DROP TRIGGER activity_fts_delete;
DROP TABLE index_queue;

CREATE TRIGGER activity_fts_insert AFTER INSERT ON activity_events WHEN new.search_text <> '' BEGIN
    INSERT INTO activity_fts (rowid, search_text) VALUES (new.id, new.search_text);
END;

CREATE TRIGGER activity_fts_delete AFTER DELETE ON activity_events WHEN old.search_text <> '' BEGIN
    INSERT INTO activity_fts (activity_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
END;
