-- A word is looked up among all messages that have it without reading them.
CREATE INDEX messages_found ON messages (id, audience, length(search_text))
WHERE deleted_at IS NULL AND search_text <> '';
