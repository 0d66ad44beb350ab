-- Files that came with a message over HTTP, or only their names where they were not taken. Who may read the message may
-- have them, and they go when its words go.
CREATE TABLE message_files (
    message_id INTEGER NOT NULL REFERENCES messages(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    content_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    skipped TEXT NOT NULL,
    content BLOB NOT NULL,
    audience TEXT NOT NULL,
    PRIMARY KEY (message_id, position)
) STRICT;
CREATE TRIGGER message_files_narrowed AFTER UPDATE OF audience ON messages WHEN new.audience <> old.audience BEGIN
    UPDATE message_files SET audience = new.audience WHERE message_id = new.id;
END;
CREATE TRIGGER message_files_gone AFTER UPDATE OF deleted_at ON messages WHEN new.deleted_at IS NOT NULL BEGIN
    DELETE FROM message_files WHERE message_id = new.id;
END;
