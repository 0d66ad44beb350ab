-- Summaries are found again by their words: those of conversations, of agents, of days and weeks as rows of one table.
-- A row goes with its summary, from the index too, and an answer that was made from it keeps only that there was one.
CREATE TABLE summary_texts (
    n INTEGER PRIMARY KEY,
    id TEXT UNIQUE NOT NULL,           -- the summary's own; 'did_...' for one of an agent, new with each that is made
    of TEXT NOT NULL CHECK (of IN ('conversation', 'agent', 'day', 'week')),
    agent_id TEXT,                     -- NULL: of the constellation
    place_id TEXT,                     -- NULL: of no one place
    start_position INTEGER NOT NULL,   -- as the summary has them
    end_position INTEGER NOT NULL,
    text TEXT NOT NULL,
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,            -- the lowest of its sources
    at TEXT NOT NULL,                  -- when it was made; of a day or week, when that began
    search_text TEXT NOT NULL
) STRICT;
CREATE INDEX summary_texts_heard ON summary_texts (audience, at);
CREATE UNIQUE INDEX summary_texts_agent ON summary_texts (agent_id, audience) WHERE of = 'agent';

CREATE VIRTUAL TABLE summary_fts USING fts5(search_text, content='summary_texts', content_rowid='n', tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO summary_fts (summary_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER summary_fts_insert AFTER INSERT ON summary_texts BEGIN
    INSERT INTO summary_fts (rowid, search_text) VALUES (new.n, new.search_text);
END;

CREATE INDEX turn_uses_summary ON turn_uses (row_id) WHERE kind = 'summary';
CREATE TRIGGER summary_texts_gone AFTER DELETE ON summary_texts BEGIN
    INSERT INTO summary_fts (summary_fts, rowid, search_text) VALUES ('delete', old.n, old.search_text);
    UPDATE turn_uses SET kind = 'gone', row_id = lower(hex(randomblob(8))) WHERE kind = 'summary' AND row_id = old.id;
END;

CREATE TRIGGER archive_summaries_gone AFTER DELETE ON archive_summaries BEGIN
    DELETE FROM summary_texts WHERE id = old.id;
END;
CREATE TRIGGER agent_summaries_gone AFTER DELETE ON agent_summaries BEGIN
    DELETE FROM summary_texts WHERE of = 'agent' AND agent_id = old.agent_id AND audience = old.audience;
END;
CREATE TRIGGER constellation_summaries_gone AFTER DELETE ON constellation_summaries BEGIN
    DELETE FROM summary_texts WHERE id = old.id;
END;

-- Those that are there, by their words as they stand; those that are made from now on as Python prepares them.
INSERT INTO summary_texts (id, of, agent_id, place_id, start_position, end_position, text, audience, trust, at, search_text)
    SELECT id, 'conversation', agent_id, place_id, start_position, end_position, summary, audience, trust, created_at,
        summary
    FROM archive_summaries WHERE summary <> '' ORDER BY created_at, id;
INSERT INTO summary_texts (id, of, agent_id, start_position, end_position, text, audience, trust, at, search_text)
    SELECT 'did_' || lower(hex(randomblob(16))), 'agent', agent_id, start_position, end_position, summary, audience, trust,
        generated_at, summary
    FROM agent_summaries WHERE summary <> '' ORDER BY generated_at;
INSERT INTO summary_texts (id, of, start_position, end_position, text, audience, trust, at, search_text)
    SELECT id, span, start_position, end_position, text, audience, trust, period_start, text FROM (
        SELECT *, summary
            || coalesce((SELECT char(10) || group_concat(value, char(10)) FROM json_each(key_decisions)), '')
            || coalesce((SELECT char(10) || group_concat(value, char(10)) FROM json_each(open_threads)), '') AS text
        FROM constellation_summaries) WHERE text <> '' ORDER BY period_start, span;
