-- What turns that nobody watched changed in archival entries: each as it was before, so that a night can be undone.

CREATE TABLE archival_journal (
    id INTEGER PRIMARY KEY,            -- snowflake
    turn_id INTEGER NOT NULL,
    entry_id TEXT NOT NULL,
    deed TEXT NOT NULL CHECK (deed IN ('insert', 'change', 'delete')),
    before TEXT NOT NULL DEFAULT '',   -- JSON: the row as it was; '' where there was none
    after TEXT NOT NULL DEFAULT '',    -- digest of what the turn left; '' where nothing is left
    people TEXT NOT NULL DEFAULT '[]', -- JSON array: whose words it holds
    messages TEXT NOT NULL DEFAULT '[]', -- JSON array: from which messages
    audience TEXT NOT NULL,
    at TEXT NOT NULL,
    undone_at TEXT
) STRICT;
CREATE INDEX archival_journal_turn ON archival_journal (turn_id);
CREATE INDEX archival_journal_entry ON archival_journal (entry_id);

-- Words that are taken back, or kept to fewer people, are not kept here either.
CREATE TRIGGER archival_journal_changed AFTER UPDATE OF content, deleted_at, audience ON messages
WHEN new.content <> old.content OR (new.deleted_at IS NOT NULL AND old.deleted_at IS NULL)
    OR new.audience <> old.audience BEGIN
    DELETE FROM archival_journal WHERE old.id IN (SELECT value FROM json_each(messages));
END;
CREATE TRIGGER archival_journal_gone AFTER DELETE ON messages BEGIN
    DELETE FROM archival_journal WHERE old.id IN (SELECT value FROM json_each(messages));
END;
