-- Which versions of blocks the agent had been shown when it made the call that a yes is asked for: numbers of lines and
-- items in it are about those, however long the answer takes.
ALTER TABLE permission_requests ADD COLUMN shown TEXT NOT NULL DEFAULT '{}'; -- JSON object: version by block
