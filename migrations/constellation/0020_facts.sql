-- What agents learned from what people said and tools gave: short statements, reinforced when they are said again.

-- A conversation without a gap of 30 minutes: of one agent, in one place, as one audience heard it.
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,            -- the turn that it began with
    agent_id TEXT NOT NULL,
    place_id TEXT NOT NULL,
    start_position INTEGER NOT NULL,   -- ids of its first and last message
    end_position INTEGER NOT NULL,
    ended INTEGER NOT NULL DEFAULT 0,  -- 1: it is over, and what follows says what it was about
    what TEXT NOT NULL DEFAULT '',
    decisions TEXT NOT NULL DEFAULT '[]',  -- this and the next three: JSON arrays of texts
    files TEXT NOT NULL DEFAULT '[]',
    commits TEXT NOT NULL DEFAULT '[]',
    unfinished TEXT NOT NULL DEFAULT '[]',
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,            -- the lowest of its messages
    started_at TEXT NOT NULL,
    last_at TEXT NOT NULL              -- when its newest turn ended
) STRICT;
CREATE INDEX sessions_agent ON sessions (agent_id, audience, ended, last_at);
CREATE INDEX sessions_open ON sessions (last_at) WHERE ended = 0;
CREATE INDEX sessions_span ON sessions (place_id, end_position);

CREATE TABLE facts (
    id INTEGER PRIMARY KEY,            -- snowflake
    agent_id TEXT NOT NULL,            -- which agent learned it
    category TEXT NOT NULL
        CHECK (category IN ('user_preference', 'codebase_pattern', 'workflow_habit', 'lesson_learned')),
    fact TEXT NOT NULL,                -- as the oldest of its sources says it
    person_id TEXT,                    -- who said it, or whose turn brought it
    reinforcements INTEGER NOT NULL DEFAULT 1,  -- in how many sessions it was said
    superseded_by INTEGER,             -- a newer fact that says otherwise
    shared_at TEXT,                    -- since when it is known to all agents; NULL: to its own
    confirmed_by TEXT NOT NULL DEFAULT '[]',    -- JSON array: agents that learned the same, while it is shared
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,            -- the lowest of its sources
    created_at TEXT NOT NULL,
    last_seen TEXT NOT NULL,
    search_text TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX facts_agent ON facts (agent_id, audience, person_id);
CREATE INDEX facts_shared ON facts (audience) WHERE shared_at IS NOT NULL;
CREATE INDEX facts_person ON facts (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX facts_superseded ON facts (superseded_by) WHERE superseded_by IS NOT NULL;

-- Where a fact comes from: each time it was said. A fact has the words of the oldest that is left, and goes with the last.
CREATE TABLE fact_sources (
    id INTEGER PRIMARY KEY,            -- snowflake
    fact_id INTEGER NOT NULL REFERENCES facts(id) ON DELETE CASCADE,
    origin TEXT NOT NULL CHECK (origin IN ('said', 'tool', 'agent', 'hand')),
    session_id INTEGER NOT NULL,
    message_id INTEGER,                -- whose words it holds; NULL: by hand
    wording TEXT NOT NULL,
    search_text TEXT NOT NULL,
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX fact_sources_fact ON fact_sources (fact_id);
CREATE INDEX fact_sources_message ON fact_sources (message_id) WHERE message_id IS NOT NULL;

CREATE VIRTUAL TABLE facts_fts USING fts5(search_text, content='facts', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO facts_fts (facts_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER facts_fts_insert AFTER INSERT ON facts BEGIN
    INSERT INTO facts_fts (rowid, search_text) VALUES (new.id, new.search_text);
END;
CREATE TRIGGER facts_fts_delete AFTER DELETE ON facts BEGIN
    INSERT INTO facts_fts (facts_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
END;
CREATE TRIGGER facts_fts_update AFTER UPDATE OF search_text ON facts WHEN new.search_text <> old.search_text BEGIN
    INSERT INTO facts_fts (facts_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
    INSERT INTO facts_fts (rowid, search_text) VALUES (new.id, new.search_text);
END;

-- A fact that goes takes nothing with it: what it had replaced holds again.
CREATE TRIGGER facts_gone AFTER DELETE ON facts BEGIN
    UPDATE facts SET superseded_by = NULL WHERE superseded_by = old.id;
END;

CREATE TRIGGER fact_sources_gone AFTER DELETE ON fact_sources BEGIN
    DELETE FROM facts WHERE id = old.fact_id AND NOT EXISTS (SELECT 1 FROM fact_sources WHERE fact_id = old.fact_id);
    UPDATE facts SET
        fact = (SELECT wording FROM fact_sources WHERE fact_id = old.fact_id ORDER BY id LIMIT 1),
        search_text = (SELECT search_text FROM fact_sources WHERE fact_id = old.fact_id ORDER BY id LIMIT 1),
        reinforcements = (SELECT count(DISTINCT session_id) FROM fact_sources WHERE fact_id = old.fact_id),
        shared_at = iif((SELECT count(DISTINCT session_id) FROM fact_sources WHERE fact_id = old.fact_id) < 3,
            NULL, shared_at),
        last_seen = (SELECT max(at) FROM fact_sources WHERE fact_id = old.fact_id)
    WHERE id = old.fact_id;
END;

-- Words that are changed, taken back, or kept to fewer people take along what was made of them.
CREATE TRIGGER facts_message_changed AFTER UPDATE OF content, audience, deleted_at ON messages
WHEN new.content <> old.content OR new.audience <> old.audience OR new.deleted_at IS NOT old.deleted_at BEGIN
    DELETE FROM fact_sources WHERE message_id = old.id;
    UPDATE sessions SET ended = 0, what = '', decisions = '[]', files = '[]', commits = '[]', unfinished = '[]'
        WHERE place_id = old.place_id AND audience = old.audience
        AND end_position >= old.id AND start_position <= old.id;
END;
CREATE TRIGGER facts_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM fact_sources WHERE message_id = old.id;
    UPDATE sessions SET ended = 0, what = '', decisions = '[]', files = '[]', commits = '[]', unfinished = '[]'
        WHERE place_id = old.place_id AND audience = old.audience
        AND end_position >= old.id AND start_position <= old.id;
END;
