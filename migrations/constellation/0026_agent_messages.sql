-- What agents write to each other, as the numbers of the rows that hold the words. `root_id` is the turn that answers
-- what began it all: everything that follows from one message is counted by it.
CREATE TABLE agent_messages (
    inbox_id INTEGER PRIMARY KEY,
    root_id INTEGER NOT NULL,
    turn_id INTEGER NOT NULL,            -- of who wrote
    from_agent TEXT NOT NULL REFERENCES agents(id),
    to_agent TEXT,                       -- NULL: the group itself
    to_group TEXT NOT NULL,              -- which answers
    sent_at TEXT NOT NULL
) STRICT;
CREATE INDEX agent_messages_root ON agent_messages (root_id);
CREATE INDEX agent_messages_turn ON agent_messages (turn_id);
CREATE INDEX agent_messages_sent ON agent_messages (sent_at);
-- Looked for after every turn, while thousands of others may wait.
CREATE INDEX inbox_written ON inbox (place_id, group_id) WHERE source = 'agent' AND status = 'received';
