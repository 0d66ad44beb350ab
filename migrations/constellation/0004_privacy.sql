-- What an erasure (its row stands in global.db) removed from this file, in the transaction that removed it: an erasure
-- that is taken up again after a crash still knows how much there was. Numbers, never words.
CREATE TABLE erasures (
    id INTEGER PRIMARY KEY,            -- that of the row in global.db
    person_id TEXT NOT NULL,
    before TEXT NOT NULL,              -- JSON object: rows by store
    answers INTEGER NOT NULL,          -- messages of agents that were emptied because they held the person's words
    at TEXT NOT NULL
) STRICT;
