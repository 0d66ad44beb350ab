-- Who is let in and who is shut out by somebody's word, beside what the configuration says; and the codes by which
-- strangers ask to be let in.

CREATE TABLE people_rules (
    subject TEXT PRIMARY KEY,          -- 'discord:<user>', 'discord:role:<role>', 'discord:guild:<guild>'
    rule TEXT NOT NULL CHECK (rule IN ('allow', 'deny')),
    via TEXT NOT NULL CHECK (via IN ('command', 'code')),
    decided_by TEXT NOT NULL,          -- person id
    decided_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row for each stranger who wrote; nothing of what they wrote. It stays a day, so that nobody is told codes for ever.
CREATE TABLE pairing_codes (
    person_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,                -- as they call themselves, flattened: for the list that the owner sees
    code TEXT UNIQUE,                  -- NULL: none is open, because it was withdrawn
    told INTEGER NOT NULL,             -- codes that they were given since `first_at`
    audience TEXT NOT NULL,
    first_at TEXT NOT NULL,
    expires_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
