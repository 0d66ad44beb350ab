-- What became of each record of a file that was imported, so that a person can read it and a second run adds nothing.
CREATE TABLE import_audit (
    id INTEGER PRIMARY KEY,            -- snowflake
    source TEXT NOT NULL,              -- 'car', 'v1', 'letta', 'chatgpt', 'discord', 'markdown'
    origin TEXT NOT NULL,              -- of which file: the CID of its root, or its digest
    record TEXT NOT NULL,              -- which record of it: a table, or the id that it has there
    outcome TEXT NOT NULL CHECK (outcome IN ('carried', 'changed', 'refused')),
    reason TEXT NOT NULL DEFAULT '',   -- words of ours
    became TEXT NOT NULL DEFAULT '',   -- the row that it became: 'messages 123'
    audience TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX import_audit_record ON import_audit (source, record);
CREATE INDEX import_audit_origin ON import_audit (origin);
