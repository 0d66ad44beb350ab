-- The name of the account that voted, as it was then: a restart does not know it otherwise.
ALTER TABLE permission_votes ADD COLUMN name TEXT NOT NULL DEFAULT '';
