-- What other agents did lately is read in every turn: an agent's newest events are found without passing those of all.
CREATE INDEX activity_agent ON activity_events (agent_id, at);
