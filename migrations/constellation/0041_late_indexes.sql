-- The words of blocks and of events are indexed soon after the commit that brought them, not in it: an edit waits for
-- less, and a block that is edited ten times in a row is indexed once. What waits stands here, so that a death between
-- loses nothing. Until then `memory_blocks.search_text` is what the index has, which its triggers rely on.
CREATE TABLE index_queue (
    kind TEXT NOT NULL CHECK (kind IN ('block', 'event')),
    row INTEGER NOT NULL,              -- memory_blocks.n, activity_events.id
    PRIMARY KEY (kind, row)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER block_queued AFTER UPDATE OF content ON memory_blocks BEGIN
    INSERT OR IGNORE INTO index_queue (kind, row) VALUES ('block', new.n);
END;
CREATE TRIGGER block_unqueued AFTER DELETE ON memory_blocks BEGIN
    DELETE FROM index_queue WHERE kind = 'block' AND row = old.n;
END;

DROP TRIGGER activity_fts_insert;
DROP TRIGGER activity_fts_delete;
CREATE TRIGGER activity_queued AFTER INSERT ON activity_events WHEN new.search_text <> '' BEGIN
    INSERT INTO index_queue (kind, row) VALUES ('event', new.id);
END;
-- What is not indexed yet must not be taken out of the index.
CREATE TRIGGER activity_fts_delete AFTER DELETE ON activity_events WHEN old.search_text <> '' BEGIN
    INSERT INTO activity_fts (activity_fts, rowid, search_text) SELECT 'delete', old.id, old.search_text
        WHERE NOT EXISTS (SELECT 1 FROM index_queue WHERE kind = 'event' AND row = old.id);
    DELETE FROM index_queue WHERE kind = 'event' AND row = old.id;
END;
