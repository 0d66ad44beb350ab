-- Codes by which a person shows that two accounts are theirs: the first is told to one account and said by the other,
-- which is then told the second, for the first one to say. Proven links are rows of user_identities with one user_id.

CREATE TABLE link_codes (
    person_id TEXT PRIMARY KEY,        -- to whom it was told
    code TEXT UNIQUE NOT NULL,
    other_id TEXT,                     -- the only one who can say it; NULL: anybody, it is a first code
    expires_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
