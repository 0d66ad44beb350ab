-- Messages of a place that were sent while nobody listened and that could not be read so far. What is said there live
-- moves the place's cursor on, past them; this remembers them until they are read or cannot be read for good.
-- A row that is closed stays for a while, so that somebody can be told of it.
CREATE TABLE gaps (
    place_id TEXT NOT NULL,            -- may have no row in places: nothing was ever heard there
    after TEXT NOT NULL,               -- the last message that was seen before
    before TEXT NOT NULL,              -- what is newer was heard live
    reason TEXT NOT NULL,
    tries INTEGER NOT NULL,
    noticed_at TEXT NOT NULL,
    next_try_at TEXT,                  -- empty once it is closed
    closed_at TEXT,
    PRIMARY KEY (place_id, after),
    CHECK ((next_try_at IS NULL) <> (closed_at IS NULL))
) STRICT, WITHOUT ROWID;

-- Whose words are shown in no one else's turn: who wants nothing kept, and who asks not to be shown to everybody.
CREATE TABLE unshown_people (
    person_id TEXT NOT NULL,
    why TEXT NOT NULL,                 -- "choice" or "label"
    since TEXT NOT NULL,
    PRIMARY KEY (person_id, why)
) STRICT, WITHOUT ROWID;

-- What has to follow an edit or a deletion: blocks, entries, answers and facts that hold the words that went. A row is
-- written with the redaction of the message and goes when its part is done.
CREATE TABLE follow_ups (
    id INTEGER PRIMARY KEY,
    message_id INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    person_id TEXT,
    audience TEXT NOT NULL,
    part TEXT NOT NULL CHECK (part IN ('blocks', 'words', 'facts')),
    old_text TEXT NOT NULL,
    learners TEXT NOT NULL DEFAULT '[]',
    ask TEXT NOT NULL DEFAULT '{}',
    at TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    next_attempt_at TEXT,
    last_error TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX follow_ups_by_message ON follow_ups (message_id);

-- A try counts when its model call or tool ran: `ran` says of the try that runs whether it came so far, `starts` how many
-- in a row did not, because the process ended before.
ALTER TABLE inbox ADD COLUMN ran INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN starts INTEGER NOT NULL DEFAULT 0;

-- One store for what agents know beside what was said. First the kinds that few things use; the others follow.

CREATE TABLE items (
    id INTEGER PRIMARY KEY,            -- snowflake
    kind TEXT NOT NULL,
    text TEXT NOT NULL DEFAULT '',     -- what it says
    key TEXT NOT NULL DEFAULT '',      -- what it is found again by within its kind
    detail TEXT NOT NULL DEFAULT '{}', -- JSON object: what else its kind keeps
    strength INTEGER NOT NULL DEFAULT 1, -- how often it was found
    agent_id TEXT,                     -- whose it is; NULL: everybody's
    person_id TEXT,                    -- who said it, or whose words it holds
    place_id TEXT,
    turn_id INTEGER,                   -- in which it was made, or which it is about
    first_position INTEGER,            -- it is made of the messages of its audience from here ...
    last_position INTEGER,             -- ... to here: of one place, in the order of that conversation; else by id
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,            -- the lowest of its sources
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,          -- when it was said last
    valid_until TEXT,                  -- from then on it is never read again
    search_text TEXT NOT NULL DEFAULT '' -- '': search does not find it
) STRICT;
CREATE INDEX items_heard ON items (kind, audience, updated_at);
CREATE INDEX items_agent ON items (agent_id, kind, id) WHERE agent_id IS NOT NULL;
CREATE INDEX items_person ON items (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX items_place ON items (place_id, kind, id) WHERE place_id IS NOT NULL;
CREATE INDEX items_until ON items (valid_until) WHERE valid_until IS NOT NULL;
CREATE INDEX items_span ON items (audience, last_position) WHERE last_position IS NOT NULL;
CREATE INDEX items_key ON items (kind, key);
CREATE INDEX items_turn ON items (turn_id) WHERE turn_id IS NOT NULL;

-- The messages whose words an item holds or is made of. It goes with any of them.
CREATE TABLE item_sources (
    item_id INTEGER NOT NULL REFERENCES items(id) ON DELETE CASCADE,
    message_id INTEGER NOT NULL,
    PRIMARY KEY (item_id, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX item_sources_message ON item_sources (message_id);

CREATE VIRTUAL TABLE item_fts USING fts5(search_text, content='items', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO item_fts (item_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER item_fts_insert AFTER INSERT ON items BEGIN
    INSERT INTO item_fts (rowid, search_text) VALUES (new.id, new.search_text);
END;

-- What there is. Those that have no number of their own are given one below.
INSERT INTO items (id, kind, text, key, detail, strength, person_id, audience, trust, created_at, updated_at)
    SELECT id, kind, text, key,
        CASE kind WHEN 'project' THEN json_object('tech', tech, 'ratings', json(ratings)) ELSE '{}' END,
        times, person_id, audience, trust, created_at, updated_at FROM project_learnings;
INSERT INTO item_sources (item_id, message_id)
    SELECT DISTINCT p.id, m.value FROM project_learnings p, json_each(p.messages) m;
INSERT INTO items (id, kind, key, detail, agent_id, person_id, place_id, turn_id, audience, trust, created_at, updated_at)
    SELECT id, 'signal', kind, CASE tool WHEN '' THEN '{}' ELSE json_object('tool', tool) END,
        agent_id, person_id, place_id, turn_id, audience, trust, at, at FROM feedback;
INSERT INTO item_sources (item_id, message_id) SELECT id, message_id FROM feedback WHERE message_id IS NOT NULL;
INSERT INTO items (kind, key, detail, agent_id, audience, trust, created_at, updated_at)
    SELECT 'evaluation', CAST(session_id AS TEXT),
        json_object('quality', quality, 'worked', json(worked), 'failed', json(failed), 'by', judged_by),
        agent_id, audience, trust, at, at FROM session_evaluations ORDER BY session_id;
INSERT INTO items (kind, text, detail, agent_id, person_id, place_id, turn_id, audience, trust, created_at, updated_at)
    SELECT 'work', prompt,
        json_object('status', status, 'summary', summary, 'decisions', json(decisions),
            'next_steps', json(next_steps), 'unfinished', json(unfinished), 'files', json(files),
            'commits', json(commits), 'last_activity', last_activity),
        agent_id, person_id, place_id, turn_id, audience, trust, at, at FROM work_states ORDER BY turn_id;
INSERT INTO item_sources (item_id, message_id)
    SELECT DISTINCT i.id, m.value FROM items i JOIN work_states w
        ON i.kind = 'work' AND i.agent_id = w.agent_id AND i.place_id = w.place_id AND i.audience = w.audience,
        json_each(w.messages) m;

-- Summaries, first with the id that they had as their key.
INSERT INTO items (kind, text, key, detail, agent_id, place_id, first_position, last_position, audience, trust,
        created_at, updated_at, search_text)
    SELECT 'conversation', s.summary, s.id,
        json_object('strategy', s.strategy, 'kept', json(s.kept), 'messages', s.message_count, 'depth', s.depth,
            'previous', s.previous_id, 'model', s.model),
        s.agent_id, s.place_id, s.start_position, s.end_position, s.audience, s.trust, s.created_at, s.created_at,
        coalesce(t.search_text, '')
    FROM archive_summaries s LEFT JOIN summary_texts t ON t.id = s.id ORDER BY s.id;
INSERT INTO items (kind, text, key, detail, agent_id, first_position, last_position, audience, trust, created_at,
        updated_at, search_text)
    SELECT 'agent', s.summary, coalesce(t.id, ''),
        json_object('messages', s.messages_covered, 'model', s.model), s.agent_id, s.start_position, s.end_position,
        s.audience, s.trust, s.generated_at, s.generated_at, coalesce(t.search_text, '')
    FROM agent_summaries s
    LEFT JOIN summary_texts t ON t.of = 'agent' AND t.agent_id = s.agent_id AND t.audience = s.audience
    ORDER BY s.generated_at;
INSERT INTO items (kind, text, key, detail, first_position, last_position, audience, trust, created_at, updated_at,
        search_text)
    SELECT s.span,
        s.summary || coalesce((SELECT char(10) || group_concat(value, char(10)) FROM json_each(s.key_decisions)), '')
            || coalesce((SELECT char(10) || group_concat(value, char(10)) FROM json_each(s.open_threads)), ''),
        s.id,
        json_object('end', s.period_end, 'decisions', json(s.key_decisions), 'threads', json(s.open_threads),
            'messages', s.message_count, 'model', s.model),
        s.start_position, s.end_position, s.audience, s.trust, s.created_at, s.created_at,
        coalesce(t.search_text, '')
    FROM constellation_summaries s LEFT JOIN summary_texts t ON t.id = s.id ORDER BY s.created_at, s.id;
UPDATE items SET detail = json_set(detail, '$.previous', (SELECT CAST(p.id AS TEXT) FROM items p
        WHERE p.kind = 'conversation' AND p.key = json_extract(items.detail, '$.previous')))
    WHERE kind = 'conversation';
UPDATE turn_uses SET row_id = (SELECT CAST(i.id AS TEXT) FROM items i
        WHERE i.kind IN ('conversation', 'agent', 'day', 'week') AND i.key = turn_uses.row_id)
    WHERE kind = 'summary' AND row_id IN (SELECT id FROM summary_texts);
UPDATE items SET key = (SELECT period_start FROM constellation_summaries WHERE id = items.key)
    WHERE kind IN ('day', 'week');
UPDATE items SET key = '' WHERE kind IN ('conversation', 'agent');

-- Working memory.
INSERT INTO items (id, kind, text, key, detail, agent_id, person_id, turn_id, audience, trust, created_at, updated_at,
        valid_until)
    SELECT id, 'working', content, key, json_object('category', category, 'tags', json(tags), 'index', index_key),
        agent_id, person_id, turn_id, audience, trust, stored_at, stored_at, expires_at
    FROM working_memory;
INSERT INTO item_sources (item_id, message_id) SELECT id, message_id FROM working_memory WHERE message_id IS NOT NULL;

-- Notes of agents, first with the id that they had as their key; what the activity says of them follows.
INSERT INTO items (kind, text, key, detail, agent_id, person_id, turn_id, audience, trust, created_at, updated_at)
    SELECT 'handoff', content, id, json_object('to', coalesce(to_agent, ''), 'message', message_id), from_agent,
        person_id, turn_id, audience, trust, created_at, created_at
    FROM handoff_notes ORDER BY id;
INSERT INTO items (kind, text, key, detail, agent_id, person_id, turn_id, audience, trust, created_at, updated_at)
    SELECT 'note', description, id, json_object('to', importance, 'message', message_id),
        json_extract(agents_involved, '$[0]'), person_id, turn_id, audience, trust, at, at
    FROM notable_events ORDER BY id;
INSERT INTO item_sources (item_id, message_id)
    SELECT id, json_extract(detail, '$.message') FROM items
    WHERE kind IN ('handoff', 'note') AND json_extract(detail, '$.message') IS NOT NULL;
UPDATE activity_events SET details = json_set(details, '$.note', (SELECT CAST(i.id AS TEXT) FROM items i
        WHERE i.kind IN ('handoff', 'note') AND i.key = json_extract(activity_events.details, '$.note')))
    WHERE json_extract(details, '$.note') IN (SELECT key FROM items WHERE kind IN ('handoff', 'note'));
CREATE TABLE item_reads (
    note_id INTEGER NOT NULL REFERENCES items(id) ON DELETE CASCADE,
    audience TEXT NOT NULL,
    turn_id INTEGER NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (note_id, audience)
) STRICT, WITHOUT ROWID;
INSERT INTO item_reads (note_id, audience, turn_id, at)
    SELECT i.id, r.audience, r.turn_id, r.at FROM handoff_reads r JOIN items i ON i.kind = 'handoff' AND i.key = r.note_id;
DROP TABLE handoff_reads;
ALTER TABLE item_reads RENAME TO handoff_reads;
UPDATE items SET key = json_extract(detail, '$.to'), detail = '{}' WHERE kind IN ('handoff', 'note');

DROP TRIGGER coordination_message_changed;
DROP TRIGGER coordination_message_gone;
DROP TABLE handoff_notes;
DROP TABLE notable_events;
CREATE TRIGGER coordination_message_changed AFTER UPDATE OF deleted_at, audience ON messages
WHEN (new.deleted_at IS NOT NULL AND old.deleted_at IS NULL) OR new.audience <> old.audience BEGIN
    DELETE FROM coordination_tasks WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM activity_events WHERE (message_id = old.id OR turn_id = old.batch_id)
        AND event_type IN ('task_assigned', 'handoff_initiated', 'notable');
END;
CREATE TRIGGER coordination_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM coordination_tasks WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM activity_events WHERE (message_id = old.id OR turn_id = old.batch_id)
        AND event_type IN ('task_assigned', 'handoff_initiated', 'notable');
END;

DROP TRIGGER working_memory_message_changed;
DROP TRIGGER working_memory_message_gone;
DROP TABLE working_memory;
DROP TRIGGER projects_message_changed;
DROP TRIGGER projects_message_gone;
DROP TRIGGER feedback_message_changed;
DROP TRIGGER feedback_message_gone;
DROP TRIGGER work_states_message_changed;
DROP TRIGGER work_states_message_gone;
DROP TRIGGER session_evaluation_changed;
DROP TRIGGER session_evaluation_gone;
DROP TABLE project_learnings;
DROP TABLE feedback;
DROP TABLE session_evaluations;
DROP TABLE work_states;
DROP TRIGGER summaries_message_changed;
DROP TRIGGER summaries_message_gone;
DROP TABLE archive_summaries;
DROP TABLE agent_summaries;
DROP TABLE constellation_summaries;
DROP TABLE summary_fts;
DROP TABLE summary_texts;

-- An item goes from the index too, and an answer that was made from it keeps only that there was one.
CREATE TRIGGER items_gone AFTER DELETE ON items BEGIN
    INSERT INTO item_fts (item_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
    UPDATE turn_uses SET kind = 'gone', row_id = lower(hex(randomblob(8)))
        WHERE kind = 'summary' AND row_id = CAST(old.id AS TEXT);
END;

-- Words that are changed, taken back, or kept to fewer people take along what was made of them.
CREATE TRIGGER items_message_changed AFTER UPDATE OF content, audience, deleted_at ON messages
WHEN new.content <> old.content OR new.audience <> old.audience OR new.deleted_at IS NOT old.deleted_at BEGIN
    DELETE FROM items WHERE kind NOT IN ('working', 'handoff', 'note') AND id IN (SELECT item_id FROM item_sources WHERE message_id = old.id);
    DELETE FROM items WHERE audience = old.audience AND last_position >= old.id
        AND (place_id IS NULL OR place_id = old.place_id)
        AND iif(place_id IS NULL, old.id, coalesce(old.batch_id, old.id)) BETWEEN first_position AND last_position;
END;
-- What an agent keeps for a while, and its notes to others, are of a whole turn: they stay when a
-- message is edited, and go with any that goes.
CREATE TRIGGER items_turn_changed AFTER UPDATE OF audience, deleted_at ON messages
WHEN new.audience <> old.audience OR (new.deleted_at IS NOT NULL AND old.deleted_at IS NULL) BEGIN
    DELETE FROM items WHERE kind IN ('working', 'handoff', 'note') AND turn_id = old.batch_id;
    DELETE FROM items WHERE id IN (SELECT item_id FROM item_sources WHERE message_id = old.id);
END;
CREATE TRIGGER items_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM items WHERE id IN (SELECT item_id FROM item_sources WHERE message_id = old.id);
    DELETE FROM items WHERE kind IN ('working', 'handoff', 'note') AND turn_id = old.batch_id;
    DELETE FROM items WHERE audience = old.audience AND last_position >= old.id
        AND (place_id IS NULL OR place_id = old.place_id)
        AND iif(place_id IS NULL, old.id, coalesce(old.batch_id, old.id)) BETWEEN first_position AND last_position;
END;
-- A talk whose words change is judged anew, and one that is forgotten takes the judgement along.
CREATE TRIGGER items_session_changed AFTER UPDATE OF ended ON sessions WHEN new.ended = 0 AND old.ended = 1 BEGIN
    DELETE FROM items WHERE kind = 'evaluation' AND key = CAST(old.id AS TEXT);
END;
CREATE TRIGGER items_session_gone AFTER DELETE ON sessions BEGIN
    DELETE FROM items WHERE kind = 'evaluation' AND key = CAST(old.id AS TEXT);
END;
