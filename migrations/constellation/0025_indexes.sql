-- What other agents did lately is read in every turn: an agent's newest events are found without passing those of all.
CREATE INDEX activity_agent ON activity_events (agent_id, at);

-- Which answers were made from an entry or a message is looked up when it goes; of blocks nobody asks that, and every turn
-- notes dozens of them, each on another page of the index.
DROP INDEX turn_uses_row;
CREATE INDEX turn_uses_entry ON turn_uses (row_id) WHERE kind = 'entry';
CREATE INDEX turn_uses_message ON turn_uses (row_id) WHERE kind = 'message';
