-- What agents keep for a while: a value under a path, until its time is over.
CREATE TABLE working_memory (
    id INTEGER PRIMARY KEY,            -- snowflake, new with each write
    key TEXT NOT NULL,                 -- the whole path: 'session/discord:10/draft'
    namespace TEXT NOT NULL,           -- its first two segments
    content TEXT NOT NULL,
    category TEXT NOT NULL DEFAULT '', -- 'email/inbox'
    tags TEXT NOT NULL DEFAULT '[]',   -- JSON array of words
    index_key TEXT,                    -- of a part of a long result: the entry that lists the parts
    agent_id TEXT,                     -- who wrote it
    person_id TEXT,                    -- whose turn it was
    turn_id INTEGER,
    message_id INTEGER,
    audience TEXT NOT NULL,            -- who heard that turn: each audience has keys of its own
    trust INTEGER NOT NULL,
    stored_at TEXT NOT NULL,
    expires_at TEXT NOT NULL           -- from then on it is never read again
) STRICT;
CREATE UNIQUE INDEX working_memory_key ON working_memory (namespace, audience, key);
CREATE INDEX working_memory_expiry ON working_memory (expires_at);
CREATE INDEX working_memory_turn ON working_memory (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX working_memory_message ON working_memory (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX working_memory_person ON working_memory (person_id) WHERE person_id IS NOT NULL;

-- Words that are taken back, or kept to fewer people, take along what was kept of them.
CREATE TRIGGER working_memory_message_changed AFTER UPDATE OF deleted_at, audience ON messages
WHEN (new.deleted_at IS NOT NULL AND old.deleted_at IS NULL) OR new.audience <> old.audience BEGIN
    DELETE FROM working_memory WHERE message_id = old.id OR turn_id = old.batch_id;
END;
CREATE TRIGGER working_memory_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM working_memory WHERE message_id = old.id OR turn_id = old.batch_id;
END;
