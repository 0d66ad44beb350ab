-- What programs asked for under a key of their own, so that the same request, sent again, is not done again.
CREATE TABLE web_requests (
    key_id TEXT NOT NULL,              -- of web_keys: who asked
    given BLOB NOT NULL,               -- BLAKE2b-256 of the key that they gave the request
    request BLOB NOT NULL,             -- BLAKE2b-256 of what they asked for
    at TEXT NOT NULL,
    done INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (key_id, given)
) STRICT, WITHOUT ROWID;
