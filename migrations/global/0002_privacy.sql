-- What people chose about what is kept of them, and what was erased at their word. Both outlive an erasure.

-- No row: what the person says is heard, kept and answered.
CREATE TABLE privacy_choices (
    person_id TEXT PRIMARY KEY,
    choice TEXT NOT NULL CHECK (choice IN ('paused', 'opted_out')),
    since TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row for each erasure: begun, and with its receipt when it is done. Numbers and names of files, never words.
CREATE TABLE erasures (
    id INTEGER PRIMARY KEY,            -- snowflake
    person_id TEXT NOT NULL,
    asked_by TEXT NOT NULL,            -- the person, or the owner
    status TEXT NOT NULL CHECK (status IN ('begun', 'done')),
    begun_at TEXT NOT NULL,
    done_at TEXT,
    receipt TEXT NOT NULL DEFAULT '{}' -- JSON
) STRICT;
CREATE UNIQUE INDEX erasures_begun ON erasures (person_id) WHERE status = 'begun';
CREATE INDEX erasures_person ON erasures (person_id, id);
