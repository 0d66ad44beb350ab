-- The history of blocks beyond what their documents keep; repairs that the owner has to know of.

-- Where a checkpoint's history begins, and the text there: 0 and nothing for a whole history.
ALTER TABLE memory_block_checkpoints ADD COLUMN base_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memory_block_checkpoints ADD COLUMN base_text TEXT NOT NULL DEFAULT '';

-- Changes that left the document: a line of JSON with the text before them, then Loro's updates as JSON; zstd.
CREATE TABLE memory_block_archives (
    block_id TEXT NOT NULL REFERENCES memory_blocks(id) ON DELETE CASCADE,
    up_to_seq INTEGER NOT NULL,
    after_seq INTEGER NOT NULL,
    blob BLOB NOT NULL,
    digest BLOB NOT NULL,              -- BLAKE2b-64 of blob
    newest_at TEXT NOT NULL,           -- when its last change was made
    audience TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (block_id, up_to_seq)
) STRICT, WITHOUT ROWID;

-- Archives can be quarantined too.
CREATE TABLE memory_block_quarantine_new (
    block_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('update', 'checkpoint', 'archive')),
    blob BLOB NOT NULL,
    reason TEXT NOT NULL,
    audience TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (block_id, kind, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO memory_block_quarantine_new SELECT block_id, seq, kind, blob, reason, audience, at FROM memory_block_quarantine;
DROP TABLE memory_block_quarantine;
ALTER TABLE memory_block_quarantine_new RENAME TO memory_block_quarantine;

-- Damage that was found: what was repaired and lost, or that nothing could be done.
CREATE TABLE memory_block_repairs (
    id INTEGER PRIMARY KEY,            -- snowflake
    block_id TEXT NOT NULL REFERENCES memory_blocks(id) ON DELETE CASCADE,
    findings TEXT NOT NULL,            -- JSON array of lines
    outcome TEXT NOT NULL,             -- 'repaired', or 'unreadable' where nothing helped
    audience TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX memory_block_repairs_at ON memory_block_repairs (at);
