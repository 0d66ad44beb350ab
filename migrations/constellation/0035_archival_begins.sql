-- An entry that says again what stands already, or more of it, is found by how the older one begins.
CREATE INDEX archival_begins ON archival_entries (agent_id, audience, substr(rtrim(content, ' .!?…'), 1, 64))
    WHERE parent_entry_id IS NULL;
