-- When people wanted nothing kept, after that is over: what they said then is not taken from a platform's history later.

CREATE TABLE ended_privacy_choices (
    person_id TEXT NOT NULL,
    since TEXT NOT NULL,
    until TEXT NOT NULL,
    PRIMARY KEY (person_id, since)
) STRICT, WITHOUT ROWID;
