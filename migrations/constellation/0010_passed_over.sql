-- Notifications that were looked at and not taken in, so that a source that reads the same pages again knows them.
-- Only a digest of what they were is kept: it tells nothing of anybody.
CREATE TABLE passed_over (
    source TEXT NOT NULL,
    digest TEXT NOT NULL,              -- of the external id
    why TEXT NOT NULL,                 -- 'filtered', 'vacated', 'deleted', 'before', ...
    at TEXT NOT NULL,
    PRIMARY KEY (source, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX passed_over_at ON passed_over (at);
