-- Earlier talk in short: of one conversation for one agent, of an agent, of all. A summary is made of messages of one
-- audience, which is its own, and goes when one of them is changed or taken away; then it is made again without it.

-- How far one agent's view of a conversation was compacted, newest last. Positions are those of the conversation's
-- order: the turn that a message belongs to, or the message itself. Each covers what the one before it covers, too.
CREATE TABLE archive_summaries (
    id TEXT PRIMARY KEY,               -- 'sum_...'; sorts by time
    agent_id TEXT NOT NULL,
    place_id TEXT NOT NULL,
    strategy TEXT NOT NULL CHECK (strategy IN ('truncate', 'recursive_summarization', 'importance', 'time_decay')),
    summary TEXT NOT NULL,             -- '': the messages left without one
    kept TEXT NOT NULL DEFAULT '[]',   -- JSON array: covered messages that stay in view nevertheless
    start_position INTEGER NOT NULL,
    end_position INTEGER NOT NULL,
    message_count INTEGER NOT NULL,    -- all that it stands for
    depth INTEGER NOT NULL,            -- 1: made of messages alone; else one more than the summary it was made of
    previous_id TEXT,
    model TEXT NOT NULL DEFAULT '',    -- which wrote the summary
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,            -- the lowest of its sources
    created_at TEXT NOT NULL
) STRICT;
CREATE INDEX archive_summaries_view ON archive_summaries (agent_id, place_id, audience, end_position);
CREATE INDEX archive_summaries_span ON archive_summaries (place_id, end_position);

CREATE TABLE agent_summaries (
    agent_id TEXT NOT NULL,
    summary TEXT NOT NULL,
    messages_covered INTEGER NOT NULL,
    start_position INTEGER NOT NULL,   -- ids of the first and last message
    end_position INTEGER NOT NULL,
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    generated_at TEXT NOT NULL,
    PRIMARY KEY (agent_id, audience)
) STRICT, WITHOUT ROWID;

CREATE TABLE constellation_summaries (
    id TEXT PRIMARY KEY,
    period_start TEXT NOT NULL,
    period_end TEXT NOT NULL,
    summary TEXT NOT NULL,
    key_decisions TEXT NOT NULL DEFAULT '[]', -- JSON array of texts
    open_threads TEXT NOT NULL DEFAULT '[]',  -- JSON array of texts
    start_position INTEGER NOT NULL,   -- ids of the first and last message
    end_position INTEGER NOT NULL,
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    created_at TEXT NOT NULL
) STRICT;
CREATE INDEX constellation_summaries_heard ON constellation_summaries (audience, period_end);

CREATE TRIGGER summaries_message_changed AFTER UPDATE OF content, audience, deleted_at ON messages
WHEN new.content <> old.content OR new.audience <> old.audience OR new.deleted_at IS NOT old.deleted_at BEGIN
    DELETE FROM archive_summaries WHERE place_id = old.place_id AND audience = old.audience
        AND end_position >= coalesce(old.batch_id, old.id) AND start_position <= coalesce(old.batch_id, old.id);
    DELETE FROM agent_summaries WHERE audience = old.audience AND end_position >= old.id AND start_position <= old.id;
    DELETE FROM constellation_summaries
        WHERE audience = old.audience AND end_position >= old.id AND start_position <= old.id;
END;
CREATE TRIGGER summaries_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM archive_summaries WHERE place_id = old.place_id AND audience = old.audience
        AND end_position >= coalesce(old.batch_id, old.id) AND start_position <= coalesce(old.batch_id, old.id);
    DELETE FROM agent_summaries WHERE audience = old.audience AND end_position >= old.id AND start_position <= old.id;
    DELETE FROM constellation_summaries
        WHERE audience = old.audience AND end_position >= old.id AND start_position <= old.id;
END;
