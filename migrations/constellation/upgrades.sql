-- Steps that bring a file of Carina 0.1.0 to the version of the start beside this file, each section one. Never change one.
-- ---------------------------------------------------------------------------------------------------------- 0043_items
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
-- -------------------------------------------------------------------------------------------------------- 0044_imports
-- What became of each record of a file that was imported, so that a person can read it and a second run adds nothing.
CREATE TABLE import_audit (
    id INTEGER PRIMARY KEY,            -- snowflake
    source TEXT NOT NULL,              -- 'car', 'v1', 'letta', 'chatgpt', 'discord', 'markdown'
    origin TEXT NOT NULL,              -- of which file: the CID of its root, or its digest
    record TEXT NOT NULL,              -- which record of it: a table, or the id that it has there
    outcome TEXT NOT NULL CHECK (outcome IN ('carried', 'changed', 'refused')),
    reason TEXT NOT NULL DEFAULT '',   -- words of ours
    became TEXT NOT NULL DEFAULT '',   -- the row that it became: 'messages 123'
    audience TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX import_audit_record ON import_audit (source, record);
CREATE INDEX import_audit_origin ON import_audit (origin);
-- --------------------------------------------------------------------------------------------------- 0045_data_sources
-- What agents are told of that nobody says to them: feeds, calendars, folders. A job looks at each (`source:<id>`).
CREATE TABLE data_sources (
    id TEXT PRIMARY KEY,
    name TEXT UNIQUE NOT NULL COLLATE NOCASE,
    source_type TEXT NOT NULL CHECK (source_type IN ('feed', 'calendar', 'folder')),
    address TEXT NOT NULL,             -- a URL, or a folder with its links resolved
    every_minutes INTEGER NOT NULL,
    enabled INTEGER NOT NULL DEFAULT 1,
    last_sync_at TEXT,                 -- when it was last read whole; NULL: what it has at first is not news
    failures INTEGER NOT NULL DEFAULT 0, -- in a row
    last_error TEXT NOT NULL DEFAULT '',
    audience TEXT NOT NULL,            -- who may hear what it says
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

-- Where each source stands: what was seen, and how it looked.
CREATE TABLE data_source_items (
    source_id TEXT NOT NULL REFERENCES data_sources(id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    mark TEXT NOT NULL,
    seen_at TEXT NOT NULL,
    PRIMARY KEY (source_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE agent_data_sources (
    agent_id TEXT NOT NULL REFERENCES agents(id),
    source_id TEXT NOT NULL REFERENCES data_sources(id) ON DELETE CASCADE,
    notification_template TEXT NOT NULL DEFAULT '', -- '': the usual one
    created_at TEXT NOT NULL,
    PRIMARY KEY (agent_id, source_id)
) STRICT, WITHOUT ROWID;
-- -------------------------------------------------------------------------------------------------- 0046_small_vectors
-- Vectors are bytes now and no longer floats: all are made anew, in the background.
DELETE FROM vectors;
DELETE FROM vector_models;
-- ------------------------------------------------------------------------------------------------- 0047_direct_indexes
-- Words of blocks and of events are indexed by the commit that brings them; what still waited is indexed here.
INSERT INTO activity_fts (rowid, search_text)
    SELECT id, search_text FROM activity_events WHERE id IN (SELECT row FROM index_queue WHERE kind = 'event');
UPDATE memory_blocks SET search_text = carina_index_text(label || ' ' || description || ' ' || content)
    WHERE deleted_at IS NULL AND n IN (SELECT row FROM index_queue WHERE kind = 'block');

DROP TRIGGER block_queued;
DROP TRIGGER block_unqueued;
DROP TRIGGER activity_queued;
DROP TRIGGER activity_fts_delete;
DROP TABLE index_queue;

CREATE TRIGGER activity_fts_insert AFTER INSERT ON activity_events WHEN new.search_text <> '' BEGIN
    INSERT INTO activity_fts (rowid, search_text) VALUES (new.id, new.search_text);
END;

CREATE TRIGGER activity_fts_delete AFTER DELETE ON activity_events WHEN old.search_text <> '' BEGIN
    INSERT INTO activity_fts (activity_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
END;
-- ----------------------------------------------------------------------------------------------------------- 0048_said
-- What people said, by person: who talked to the agents is counted from the index alone.
CREATE INDEX messages_said ON messages (person_id, created_at, audience) WHERE role = 'user' AND deleted_at IS NULL;
-- ---------------------------------------------------------------------------------------------------------- 0049_tasks
-- One store for tasks: those on a person's list, and those that agents share. Every task has a state, may wait for
-- others, be a step of another one, and have fields of its own.

CREATE TABLE new_tasks (
    id INTEGER PRIMARY KEY,            -- snowflake
    title TEXT NOT NULL,
    notes TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'in_progress', 'done', 'cancelled')),
    priority TEXT NOT NULL DEFAULT 'medium' CHECK (priority IN ('low', 'medium', 'high', 'urgent')),
    parent_id INTEGER REFERENCES new_tasks(id) ON DELETE SET NULL,
    needs TEXT NOT NULL DEFAULT '[]',  -- JSON array: ids of tasks that have to be done before
    shared INTEGER NOT NULL DEFAULT 0, -- 1: agents share it; 0: it is on the list of its person
    assignee_id TEXT,                  -- of a shared one: an agent; NULL: anyone
    agent_id TEXT REFERENCES agents(id),  -- who wrote it down; NULL: a person, by command
    person_id TEXT,                    -- whose it is; of a shared one, whose turn it is from
    turn_id INTEGER,                   -- of a shared one: in which it was written; it goes with its messages
    message_id INTEGER,
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    due_at TEXT,
    done_at TEXT,
    fields TEXT NOT NULL DEFAULT '{}', -- JSON object: names of somebody's own, with their values
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    search_text TEXT NOT NULL DEFAULT ''
) STRICT;

INSERT INTO new_tasks (id, title, notes, status, priority, parent_id, agent_id, person_id, audience, trust, due_at,
        done_at, created_at, updated_at, search_text)
    SELECT id, title, notes, replace(replace(status, 'pending', 'open'), 'completed', 'done'), priority, parent_id,
        agent_id, person_id, audience, trust, due_at, done_at, created_at, updated_at, search_text FROM tasks;
DROP TABLE tasks;
ALTER TABLE new_tasks RENAME TO tasks;
CREATE INDEX tasks_open ON tasks (status, id);
CREATE INDEX tasks_person ON tasks (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX tasks_parent ON tasks (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX tasks_turn ON tasks (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX tasks_message ON tasks (message_id) WHERE message_id IS NOT NULL;

CREATE TRIGGER task_fts_insert AFTER INSERT ON tasks BEGIN
    INSERT INTO task_fts (rowid, search_text) VALUES (new.id, new.search_text);
END;
CREATE TRIGGER task_fts_delete AFTER DELETE ON tasks BEGIN
    INSERT INTO task_fts (task_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
END;
CREATE TRIGGER task_fts_update AFTER UPDATE OF search_text ON tasks WHEN new.search_text <> old.search_text BEGIN
    INSERT INTO task_fts (task_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
    INSERT INTO task_fts (rowid, search_text) VALUES (new.id, new.search_text);
END;
CREATE TRIGGER vectors_task_new AFTER INSERT ON tasks WHEN new.search_text <> '' BEGIN
    INSERT INTO vector_queue (kind, row) VALUES ('task', new.id) ON CONFLICT DO UPDATE SET failed = 0;
END;
CREATE TRIGGER vectors_task_changed AFTER UPDATE OF title, notes, audience ON tasks
WHEN new.title <> old.title OR new.notes <> old.notes OR new.audience <> old.audience BEGIN
    DELETE FROM vectors WHERE kind = 'task' AND row = old.id;
    INSERT INTO vector_queue (kind, row) VALUES ('task', new.id) ON CONFLICT DO UPDATE SET failed = 0;
END;
CREATE TRIGGER vectors_task_gone AFTER DELETE ON tasks BEGIN
    DELETE FROM vector_queue WHERE kind = 'task' AND row = old.id;
    DELETE FROM vectors WHERE kind = 'task' AND row = old.id;
END;

-- Tasks of agents, first with the id that they had in the place of their notes; the activity names the new one, which is
-- made of the time like others, as of a process that there is not.
INSERT INTO tasks (id, title, notes, status, priority, shared, assignee_id, agent_id, person_id, turn_id, message_id,
        audience, trust, done_at, created_at, updated_at, search_text)
    SELECT (max(unixepoch(created_at) * 1000 - 1735689600000, 0) << 22) + (1023 << 12) + row_number() OVER (ORDER BY id),
        description, id, replace(replace(status, 'pending', 'open'), 'completed', 'done'),
        replace(priority, 'critical', 'urgent'), 1, assigned_to, (SELECT id FROM agents WHERE id = assigned_by),
        person_id, turn_id, message_id, audience, trust, iif(status IN ('completed', 'cancelled'), updated_at, NULL),
        created_at, updated_at, carina_index_text(description)
    FROM coordination_tasks ORDER BY id;
UPDATE activity_events SET details = json_set(details, '$.task', (SELECT CAST(t.id AS TEXT) FROM tasks t
        WHERE t.shared AND t.notes = json_extract(activity_events.details, '$.task')))
    WHERE json_extract(details, '$.task') IN (SELECT notes FROM tasks WHERE shared);
UPDATE tasks SET notes = '' WHERE shared;
UPDATE tasks SET title = substr(title, 1, 299) || '…', notes = '…' || substr(title, 300)
    WHERE shared AND length(title) > 300;
UPDATE tasks SET title = replace(title, char(10), ' ') WHERE shared;

DROP TRIGGER coordination_message_changed;
DROP TRIGGER coordination_message_gone;
DROP TABLE coordination_tasks;
CREATE TRIGGER coordination_message_changed AFTER UPDATE OF deleted_at, audience ON messages
WHEN (new.deleted_at IS NOT NULL AND old.deleted_at IS NULL) OR new.audience <> old.audience BEGIN
    DELETE FROM tasks WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM activity_events WHERE (message_id = old.id OR turn_id = old.batch_id)
        AND event_type IN ('task_assigned', 'handoff_initiated', 'notable');
END;
CREATE TRIGGER coordination_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM tasks WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM activity_events WHERE (message_id = old.id OR turn_id = old.batch_id)
        AND event_type IN ('task_assigned', 'handoff_initiated', 'notable');
END;
-- ------------------------------------------------------------------------------------------------- 0050_words_of_tasks
-- What the activity says of a shared task, such as what it was before a change, goes with the task; and a task that got
-- its words from a message goes with that, whoever wrote it down first.
CREATE INDEX activity_task ON activity_events (json_extract(details, '$.task'))
    WHERE json_extract(details, '$.task') IS NOT NULL;
CREATE TRIGGER task_gone AFTER DELETE ON tasks WHEN old.shared BEGIN
    DELETE FROM activity_events WHERE json_extract(details, '$.task') = '' || old.id;
END;

DROP TRIGGER coordination_message_changed;
DROP TRIGGER coordination_message_gone;
CREATE TRIGGER coordination_message_changed AFTER UPDATE OF deleted_at, audience ON messages
WHEN (new.deleted_at IS NOT NULL AND old.deleted_at IS NULL) OR new.audience <> old.audience BEGIN
    DELETE FROM tasks WHERE shared AND id IN (SELECT CAST(json_extract(e.details, '$.task') AS INTEGER)
        FROM activity_events e WHERE (e.message_id = old.id OR e.turn_id = old.batch_id) AND e.event_type = 'notable'
        AND EXISTS (SELECT 1 FROM json_tree(e.details, '$.before') WHERE key IN ('title', 'notes', 'fields')));
    DELETE FROM tasks WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM activity_events WHERE (message_id = old.id OR turn_id = old.batch_id)
        AND event_type IN ('task_assigned', 'handoff_initiated', 'notable');
END;
CREATE TRIGGER coordination_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM tasks WHERE shared AND id IN (SELECT CAST(json_extract(e.details, '$.task') AS INTEGER)
        FROM activity_events e WHERE (e.message_id = old.id OR e.turn_id = old.batch_id) AND e.event_type = 'notable'
        AND EXISTS (SELECT 1 FROM json_tree(e.details, '$.before') WHERE key IN ('title', 'notes', 'fields')));
    DELETE FROM tasks WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM activity_events WHERE (message_id = old.id OR turn_id = old.batch_id)
        AND event_type IN ('task_assigned', 'handoff_initiated', 'notable');
END;
-- ---------------------------------------------------------------------------------------------------- 0051_seldom_rows
-- What failed is found without reading all that arrived, and what models cost is added up from the index alone.
CREATE INDEX inbox_dead ON inbox (person_id) WHERE status = 'dead';
DROP INDEX model_usage_at;
CREATE INDEX model_usage_at ON model_usage (at, agent_id, model, input_tokens, output_tokens, cost_usd);
-- ------------------------------------------------------------------------------------------------- 0052_found_messages
-- A word is looked up among all messages that have it without reading them.
CREATE INDEX messages_found ON messages (id, audience, length(search_text))
WHERE deleted_at IS NULL AND search_text <> '';
-- -------------------------------------------------------------------------------------------------- 0053_cached_tokens
-- What models cost is added up from the index alone, also by purpose and with what providers had already.
DROP INDEX model_usage_at;
CREATE INDEX model_usage_at ON model_usage
    (at, agent_id, model, input_tokens, output_tokens, cost_usd, cache_read_tokens, turn_id, person_id);
-- -------------------------------------------------------------------------------------- 0054_person_and_place_settings
-- Models are chosen for places, and languages by people.
CREATE TABLE new_steering (
    kind TEXT NOT NULL CHECK (kind IN ('mode', 'group', 'model', 'pause', 'language')),
    subject TEXT NOT NULL,             -- mode: 'discord:<channel, category or guild>'; group, model: a binding;
                                       -- pause: a source; language: a person id
    value TEXT NOT NULL,               -- the mode; the group's id; the model; nothing; the language
    decided_by TEXT NOT NULL,          -- person id
    decided_at TEXT NOT NULL,
    PRIMARY KEY (kind, subject)
) STRICT, WITHOUT ROWID;
INSERT INTO new_steering SELECT * FROM steering;
DROP TABLE steering;
ALTER TABLE new_steering RENAME TO steering;

-- By which names settings concern a place, the narrowest first: JSON array. Empty for direct messages.
ALTER TABLE places ADD COLUMN bindings TEXT NOT NULL DEFAULT '[]';

-- Where reminders arrive: 'here', where they were set; 'privately'; '' where nothing was said.
ALTER TABLE person_times ADD COLUMN reminders TEXT NOT NULL DEFAULT '';
-- ---------------------------------------------------------------------------------------------- 0055_models_of_folders
-- A folder may have an embedding model of its own: '' is that of the constellation, 'none' stands for words alone.
ALTER TABLE folders ADD COLUMN embedding_model TEXT NOT NULL DEFAULT '';

DROP TRIGGER vectors_passage_new;
CREATE TRIGGER vectors_passage_new AFTER INSERT ON file_passages
WHEN new.search_text <> '' AND (SELECT embedding_model FROM folders WHERE id = new.folder_id) IS NOT 'none' BEGIN
    INSERT INTO vector_queue (kind, row) VALUES ('passage', new.n) ON CONFLICT DO UPDATE SET failed = 0;
END;

DROP TRIGGER vectors_passage_changed;
CREATE TRIGGER vectors_passage_changed AFTER UPDATE OF audience ON file_passages WHEN new.audience <> old.audience BEGIN
    DELETE FROM vectors WHERE kind = 'passage' AND row = old.n;
    INSERT INTO vector_queue (kind, row)
    SELECT 'passage', new.n FROM folders WHERE id = new.folder_id AND embedding_model <> 'none'
    ON CONFLICT DO UPDATE SET failed = 0;
END;

CREATE TRIGGER vectors_folder_changed AFTER UPDATE OF embedding_model ON folders
WHEN new.embedding_model <> old.embedding_model BEGIN
    DELETE FROM vector_queue WHERE kind = 'passage' AND row IN (SELECT n FROM file_passages WHERE folder_id = new.id);
    DELETE FROM vectors WHERE kind = 'passage' AND row IN (SELECT n FROM file_passages WHERE folder_id = new.id);
    INSERT INTO vector_queue (kind, row) SELECT 'passage', n FROM file_passages
    WHERE folder_id = new.id AND search_text <> '' AND new.embedding_model <> 'none';
END;
-- --------------------------------------------------------------------------------------- 0056_living_entries_and_costs
-- Every search asks how many entries can be found, and the page of costs adds up by day.
CREATE INDEX archival_living ON archival_entries (agent_id, audience)
WHERE archived_at IS NULL AND superseded_by IS NULL;
DROP INDEX model_usage_at;
CREATE INDEX model_usage_at ON model_usage (at, agent_id, model, input_tokens, output_tokens, cost_usd);
CREATE INDEX model_usage_days ON model_usage
    (substr(at, 1, 10), agent_id, model, turn_id IS NULL, person_id IS NULL, input_tokens, output_tokens, cost_usd, cache_read_tokens, at);
-- -------------------------------------------------------------------------------------------------- 0057_message_files
-- Files that came with a message over HTTP, or only their names where they were not taken. Who may read the message may
-- have them, and they go when its words go.
CREATE TABLE message_files (
    message_id INTEGER NOT NULL REFERENCES messages(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    content_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    skipped TEXT NOT NULL,
    content BLOB NOT NULL,
    audience TEXT NOT NULL,
    PRIMARY KEY (message_id, position)
) STRICT;
CREATE TRIGGER message_files_narrowed AFTER UPDATE OF audience ON messages WHEN new.audience <> old.audience BEGIN
    UPDATE message_files SET audience = new.audience WHERE message_id = new.id;
END;
CREATE TRIGGER message_files_gone AFTER UPDATE OF deleted_at ON messages WHEN new.deleted_at IS NOT NULL BEGIN
    DELETE FROM message_files WHERE message_id = new.id;
END;
-- ------------------------------------------------------------------------------------------------------- 0058_webhooks
-- Webhooks are sources, too. Nothing asks them on schedule.
CREATE TABLE new_data_sources (
    id TEXT PRIMARY KEY,
    name TEXT UNIQUE NOT NULL COLLATE NOCASE,
    source_type TEXT NOT NULL CHECK (source_type IN ('feed', 'calendar', 'folder', 'webhook')),
    address TEXT NOT NULL,             -- a URL; a folder with its links resolved; the secret of a webhook's signatures,
                                       -- '' for one of carina.toml, whose secret is in the environment
    every_minutes INTEGER NOT NULL,    -- 0 for webhooks
    enabled INTEGER NOT NULL DEFAULT 1,
    last_sync_at TEXT,                 -- when it was last read whole; NULL: what it has at first is not news
    failures INTEGER NOT NULL DEFAULT 0, -- in a row
    last_error TEXT NOT NULL DEFAULT '',
    audience TEXT NOT NULL,            -- who may hear what it says
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;
INSERT INTO new_data_sources SELECT * FROM data_sources;

-- Dropping a table deletes its rows, and theirs with them.
CREATE TEMP TABLE kept_items AS SELECT * FROM data_source_items;
CREATE TEMP TABLE kept_agents AS SELECT * FROM agent_data_sources;
DROP TABLE data_sources;
ALTER TABLE new_data_sources RENAME TO data_sources;
INSERT INTO data_source_items SELECT * FROM kept_items;
INSERT INTO agent_data_sources SELECT * FROM kept_agents;
DROP TABLE kept_items;
DROP TABLE kept_agents;
-- ------------------------------------------------------------------------------------------------ 0059_jobs_of_sources
-- The checks of a source are named like it, so that people can tell them apart.
UPDATE jobs SET id = 'source:' || (SELECT name FROM data_sources s WHERE jobs.id = 'source:' || s.id)
WHERE EXISTS (SELECT 1 FROM data_sources s WHERE jobs.id = 'source:' || s.id);
-- ------------------------------------------------------------------------------------------------- 0060_steps_of_turns
-- The messages that a turn began with, each with its revision: most turns need no step for them.
ALTER TABLE turns ADD COLUMN heard TEXT NOT NULL DEFAULT '[]';

-- A turn that is over keeps no steps.
CREATE TRIGGER turns_drop_steps AFTER UPDATE OF status ON turns WHEN new.status NOT IN ('running', 'suspended') BEGIN
    DELETE FROM turn_steps WHERE turn_id = new.id;
END;
-- --------------------------------------------------------------------------------------------------- 0061_named_blocks
-- Who gave a block its name and description, and in which turn: they are that writer's words. '' where it is not known.
ALTER TABLE memory_blocks ADD COLUMN named_by TEXT NOT NULL DEFAULT '';
ALTER TABLE memory_blocks ADD COLUMN named_turn INTEGER;

-- A note that a person created a block has no id of the block; it follows the block within moments.
UPDATE memory_blocks SET named_by = coalesce((
    SELECT 'person:' || e.person_id FROM activity_events e
    WHERE e.event_type = 'memory_block_updated' AND e.agent_id IS NULL AND e.audience = memory_blocks.audience
      AND json_extract(e.details, '$.change') = 'created'
      AND julianday(e.at) - julianday(memory_blocks.created_at) BETWEEN 0 AND 0.0001
    ORDER BY e.id LIMIT 1), '');

UPDATE memory_blocks SET named_by = 'agent:' || agent_id, named_turn = (
    SELECT e.turn_id FROM activity_events e
    WHERE e.event_type = 'memory_block_updated' AND json_extract(e.details, '$.block') = memory_blocks.id
      AND json_extract(e.details, '$.change') = 'create'
    ORDER BY e.id LIMIT 1)
WHERE named_by = '';
UPDATE memory_blocks SET named_by = '' WHERE named_by LIKE 'agent:%' AND named_turn IS NULL;
-- ------------------------------------------------------------------------------------------------- 0062_names_of_votes
-- The name of the account that voted, as it was then: a restart does not know it otherwise.
ALTER TABLE permission_votes ADD COLUMN name TEXT NOT NULL DEFAULT '';
-- ----------------------------------------------------------------------------------------------- 0063_described_blocks
-- Who wrote a block's description, and in which turn: it may be somebody else than who gave it its name.
ALTER TABLE memory_blocks ADD COLUMN described_by TEXT NOT NULL DEFAULT '';
ALTER TABLE memory_blocks ADD COLUMN described_turn INTEGER;

UPDATE memory_blocks SET described_by = named_by, described_turn = named_turn;
-- -------------------------------------------------------------------------------------------- 0064_one_vector_per_text
-- A message is embedded alone, once. All vectors are made again in the background, newest first: no model is current, so that the next start queues every row.

UPDATE vector_models SET current = 0;
INSERT INTO vector_queue (kind, row) SELECT 'passage', p.n FROM file_passages p JOIN folders f ON f.id = p.folder_id
    WHERE p.search_text <> '' AND f.embedding_model NOT IN ('', 'none') ON CONFLICT DO UPDATE SET failed = 0;
DROP TABLE vectors;
DROP TABLE vector_spaces;

-- Vectors that may be compared and shown together.
CREATE TABLE vector_spaces (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again, so that no vector changes hands
    model_id INTEGER NOT NULL REFERENCES vector_models(id),
    kind TEXT NOT NULL,                -- one of KINDS in memory/search/vector_texts.py
    agent_id TEXT NOT NULL,            -- whose entries or blocks; '' for messages and passages
    audience TEXT NOT NULL,
    UNIQUE (model_id, kind, agent_id, audience)
) STRICT;

CREATE TABLE vectors (
    id INTEGER PRIMARY KEY,
    space_id INTEGER NOT NULL REFERENCES vector_spaces(id),
    kind TEXT NOT NULL,
    row INTEGER NOT NULL,              -- messages.id, archival_entries.n, memory_blocks.n, ...
    part INTEGER NOT NULL,             -- long texts are embedded in parts
    bits BLOB NOT NULL,                -- the signs of the vector, by which candidates are found
    vector BLOB NOT NULL,              -- signed bytes, scaled so that the largest is at one end
    tokens BLOB                        -- the signs of the vectors of its words, where the model gives them
) STRICT;
CREATE INDEX vectors_near ON vectors (space_id, row, part, bits);
CREATE INDEX vectors_row ON vectors (row, kind);
CREATE TRIGGER vector_spaces_empty AFTER DELETE ON vectors
WHEN NOT EXISTS (SELECT 1 FROM vectors WHERE space_id = old.space_id) BEGIN
    DELETE FROM vector_spaces WHERE id = old.space_id;
END;

DROP TRIGGER vectors_message_changed;
CREATE TRIGGER vectors_message_changed AFTER UPDATE OF content, search_text, speaker, audience ON messages
WHEN new.content <> old.content OR new.search_text <> old.search_text OR new.speaker <> old.speaker
    OR new.audience <> old.audience BEGIN
    DELETE FROM vector_queue WHERE kind = 'message' AND row = old.id;
    DELETE FROM vectors WHERE kind = 'message' AND row = old.id;
    INSERT INTO vector_queue (kind, row) SELECT 'message', new.id WHERE new.search_text <> '';
END;
DROP TRIGGER vectors_message_gone;
CREATE TRIGGER vectors_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM vector_queue WHERE kind = 'message' AND row = old.id;
    DELETE FROM vectors WHERE kind = 'message' AND row = old.id;
END;
-- -------------------------------------------------------------------------------------------------- 0065_short_vectors
-- A vector takes half a byte a number, and its signs are stored once, in the order in which they are searched. All vectors
-- are made again in the background, newest first: no model is current, so that the next start queues every row.

UPDATE vector_models SET current = 0;
INSERT INTO vector_queue (kind, row) SELECT 'passage', p.n FROM file_passages p JOIN folders f ON f.id = p.folder_id
    WHERE p.search_text <> '' AND f.embedding_model NOT IN ('', 'none') ON CONFLICT DO UPDATE SET failed = 0;
DROP TABLE vectors;
DELETE FROM vector_spaces;

CREATE TABLE vectors (
    space_id INTEGER NOT NULL REFERENCES vector_spaces(id),
    row INTEGER NOT NULL,              -- messages.id, archival_entries.n, memory_blocks.n, ...
    part INTEGER NOT NULL,             -- long texts are embedded in parts
    bits BLOB NOT NULL,                -- the signs of the vector, by which candidates are found
    id INTEGER NOT NULL,               -- of its numbers
    PRIMARY KEY (space_id, row, part)
) STRICT, WITHOUT ROWID;

-- Apart from the signs, so that those of many vectors stand together.
CREATE TABLE vector_numbers (
    id INTEGER PRIMARY KEY,
    digits BLOB NOT NULL,              -- the numbers of the vector: see `to_digits` in memory/store/sqlite.py
    tokens BLOB                        -- the signs of the vectors of its words, where the model gives them
) STRICT;
CREATE TRIGGER vectors_gone AFTER DELETE ON vectors BEGIN
    DELETE FROM vector_numbers WHERE id = old.id;
END;
CREATE TRIGGER vector_spaces_empty AFTER DELETE ON vectors
WHEN NOT EXISTS (SELECT 1 FROM vectors WHERE space_id = old.space_id) BEGIN
    DELETE FROM vector_spaces WHERE id = old.space_id;
END;

-- The vectors of a row are found by its kind and audience.

DROP TRIGGER vectors_message_changed;
CREATE TRIGGER vectors_message_changed AFTER UPDATE OF content, search_text, speaker, audience ON messages
WHEN new.content <> old.content OR new.search_text <> old.search_text OR new.speaker <> old.speaker
    OR new.audience <> old.audience BEGIN
    DELETE FROM vector_queue WHERE kind = 'message' AND row = old.id;
    DELETE FROM vectors WHERE row = old.id
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'message' AND audience = old.audience);
    INSERT INTO vector_queue (kind, row) SELECT 'message', new.id WHERE new.search_text <> '';
END;
DROP TRIGGER vectors_message_gone;
CREATE TRIGGER vectors_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM vector_queue WHERE kind = 'message' AND row = old.id;
    DELETE FROM vectors WHERE row = old.id
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'message' AND audience = old.audience);
END;
DROP TRIGGER vectors_entry_changed;
CREATE TRIGGER vectors_entry_changed
AFTER UPDATE OF content, search_text, audience, agent_id, archived_at, superseded_by ON archival_entries
WHEN new.content <> old.content OR new.search_text <> old.search_text OR new.audience <> old.audience
    OR new.agent_id <> old.agent_id OR new.archived_at IS NOT old.archived_at
    OR new.superseded_by IS NOT old.superseded_by BEGIN
    DELETE FROM vector_queue WHERE kind = 'entry' AND row = old.n;
    DELETE FROM vectors WHERE row = old.n
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'entry' AND audience = old.audience);
    INSERT INTO vector_queue (kind, row) SELECT 'entry', new.n
        WHERE new.archived_at IS NULL AND new.superseded_by IS NULL AND new.search_text <> '';
END;
DROP TRIGGER vectors_entry_gone;
CREATE TRIGGER vectors_entry_gone AFTER DELETE ON archival_entries BEGIN
    DELETE FROM vector_queue WHERE kind = 'entry' AND row = old.n;
    DELETE FROM vectors WHERE row = old.n
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'entry' AND audience = old.audience);
END;
DROP TRIGGER vectors_block_changed;
CREATE TRIGGER vectors_block_changed
AFTER UPDATE OF content, profile, label, description, audience, agent_id, deleted_at ON memory_blocks
WHEN new.content <> old.content OR new.profile <> old.profile OR new.label <> old.label
    OR new.description <> old.description OR new.audience <> old.audience OR new.agent_id <> old.agent_id
    OR new.deleted_at IS NOT old.deleted_at BEGIN
    DELETE FROM vector_queue WHERE kind = 'block' AND row = old.n;
    DELETE FROM vectors WHERE row = old.n
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'block' AND audience = old.audience);
    INSERT INTO vector_queue (kind, row) SELECT 'block', new.n WHERE new.deleted_at IS NULL;
END;
DROP TRIGGER vectors_block_gone;
CREATE TRIGGER vectors_block_gone AFTER DELETE ON memory_blocks BEGIN
    DELETE FROM vector_queue WHERE kind = 'block' AND row = old.n;
    DELETE FROM vectors WHERE row = old.n
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'block' AND audience = old.audience);
END;
DROP TRIGGER vectors_task_changed;
CREATE TRIGGER vectors_task_changed AFTER UPDATE OF title, notes, audience ON tasks
WHEN new.title <> old.title OR new.notes <> old.notes OR new.audience <> old.audience BEGIN
    DELETE FROM vectors WHERE row = old.id
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'task' AND audience = old.audience);
    INSERT INTO vector_queue (kind, row) VALUES ('task', new.id) ON CONFLICT DO UPDATE SET failed = 0;
END;
DROP TRIGGER vectors_task_gone;
CREATE TRIGGER vectors_task_gone AFTER DELETE ON tasks BEGIN
    DELETE FROM vector_queue WHERE kind = 'task' AND row = old.id;
    DELETE FROM vectors WHERE row = old.id
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'task' AND audience = old.audience);
END;
DROP TRIGGER vectors_passage_changed;
CREATE TRIGGER vectors_passage_changed AFTER UPDATE OF audience ON file_passages WHEN new.audience <> old.audience BEGIN
    DELETE FROM vectors WHERE row = old.n
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'passage' AND audience = old.audience);
    INSERT INTO vector_queue (kind, row)
    SELECT 'passage', new.n FROM folders WHERE id = new.folder_id AND embedding_model <> 'none'
    ON CONFLICT DO UPDATE SET failed = 0;
END;
DROP TRIGGER vectors_passage_gone;
CREATE TRIGGER vectors_passage_gone AFTER DELETE ON file_passages BEGIN
    DELETE FROM vector_queue WHERE kind = 'passage' AND row = old.n;
    DELETE FROM vectors WHERE row = old.n
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'passage' AND audience = old.audience);
END;
DROP TRIGGER vectors_folder_changed;
CREATE TRIGGER vectors_folder_changed AFTER UPDATE OF embedding_model ON folders
WHEN new.embedding_model <> old.embedding_model BEGIN
    DELETE FROM vector_queue WHERE kind = 'passage' AND row IN (SELECT n FROM file_passages WHERE folder_id = new.id);
    DELETE FROM vectors WHERE row IN (SELECT n FROM file_passages WHERE folder_id = new.id)
        AND space_id IN (SELECT id FROM vector_spaces WHERE kind = 'passage');
    INSERT INTO vector_queue (kind, row) SELECT 'passage', n FROM file_passages
    WHERE folder_id = new.id AND search_text <> '' AND new.embedding_model <> 'none';
END;
-- ------------------------------------------------------------------------------------------------ 0066_turns_of_blocks
-- Which blocks a turn changed: what it wrote goes with the messages that it answered.
CREATE TABLE memory_block_turns (
    turn_id INTEGER NOT NULL,
    block_id TEXT NOT NULL REFERENCES memory_blocks(id) ON DELETE CASCADE,
    PRIMARY KEY (turn_id, block_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_block_turns_block ON memory_block_turns (block_id);

INSERT OR IGNORE INTO memory_block_turns (turn_id, block_id)
    SELECT e.turn_id, b.id FROM activity_events e JOIN memory_blocks b ON b.id = json_extract(e.details, '$.block')
    WHERE e.turn_id IS NOT NULL;

-- Where the activity has expired, or says only that a block was changed: those with changes from the time of a turn with
-- tools, or without any that old.
INSERT OR IGNORE INTO memory_block_turns (turn_id, block_id)
    WITH t AS (SELECT id, started_at AS start, coalesce(ended_at, '9') AS end FROM turns
        WHERE EXISTS (SELECT 1 FROM messages m WHERE m.batch_id = turns.id AND m.role = 'tool')
          AND (NOT EXISTS (SELECT 1 FROM activity_events e WHERE e.turn_id = turns.id)
            OR EXISTS (SELECT 1 FROM activity_events e WHERE e.turn_id = turns.id
                AND e.event_type = 'memory_block_updated' AND json_extract(e.details, '$.block') IS NULL)))
    SELECT t.id, b.id FROM t JOIN memory_blocks b ON b.updated_at >= t.start AND b.created_at <= t.end
    WHERE b.block_type <> 'log' AND (
        EXISTS (SELECT 1 FROM memory_block_updates u WHERE u.block_id = b.id AND u.created_at BETWEEN t.start AND t.end)
        OR (SELECT u.seq > 1 AND u.created_at > t.start FROM memory_block_updates u WHERE u.block_id = b.id
            ORDER BY u.seq LIMIT 1)
        OR b.next_seq > 1 AND NOT EXISTS (SELECT 1 FROM memory_block_updates u WHERE u.block_id = b.id));
-- ---------------------------------------------------------------------------------------------------- 0067_named_types
-- What is stored of several types names its type, which was recognized by its fields before. Nothing is named where a row
-- says all in its kind, or is of the most frequent type.

UPDATE turn_steps SET body = json_set(body, '$.type', CASE
        WHEN body -> '$.recovery' IS NOT NULL THEN 'taken_up' WHEN kind = 'note' THEN 'missing'
        WHEN coalesce(body -> '$.request', body -> '$.data.waiting') IS NOT NULL THEN 'waits' ELSE 'failed' END)
    WHERE iif(json_valid(body), kind = 'tool_result' AND body -> '$.trust' IS NULL
        OR kind = 'note' AND coalesce(body -> '$.recovery', body -> '$.force') IS NOT NULL, 0);

UPDATE outbox SET detail = json_set(detail, '$.type', CASE
        WHEN detail -> '$.edits' IS NOT NULL THEN 'edit' WHEN detail -> '$.card' IS NOT NULL THEN 'card' ELSE 'act' END)
    WHERE iif(json_valid(detail), coalesce(detail -> '$.edits', detail -> '$.card', detail -> '$.act') IS NOT NULL, 0);

UPDATE inbox SET payload = json_set(payload, '$.type', CASE
        WHEN payload -> '$.edited' IS NOT NULL THEN 'edit' WHEN payload -> '$.request' IS NOT NULL THEN 'decision'
        WHEN payload -> '$.task' IS NOT NULL THEN 'patrol' WHEN payload -> '$.hops' IS NOT NULL THEN 'task'
        WHEN payload -> '$.priority' IS NOT NULL THEN 'trigger' WHEN payload -> '$.to' IS NOT NULL THEN 'letter'
        ELSE 'news' END)
    WHERE iif(json_valid(payload), coalesce(payload -> '$.edited', payload -> '$.request', payload -> '$.agent',
        payload -> '$.to') IS NOT NULL, 0);

UPDATE activity_events SET details = json_set(details, '$.type', CASE
        WHEN event_type = 'file_accessed' THEN iif(details -> '$.files' IS NULL, 'folder', 'attachments')
        WHEN details -> '$.task' IS NOT NULL THEN 'task' WHEN details -> '$.note' IS NOT NULL THEN 'note'
        WHEN details -> '$.entry' IS NOT NULL THEN 'entry' WHEN details -> '$.dream' IS NOT NULL THEN 'tidied'
        ELSE 'undone' END)
    WHERE iif(json_valid(details), event_type = 'file_accessed' OR event_type = 'notable' AND details <> '{}', 0);
-- --------------------------------------------------------------------------------------------------- 0068_empty_blocks
-- Blocks in which nothing was written yet are not searched. What stands in fields comes after a space, which the names of
-- fields do not have.
UPDATE memory_blocks SET search_text = ''
    WHERE profile = '' AND search_text <> '' AND (content = ''
        OR json_extract(schema, '$.type') = 'map' AND instr(content, ' ') = 0);
DELETE FROM vectors WHERE space_id IN (SELECT id FROM vector_spaces WHERE kind = 'block')
    AND row IN (SELECT n FROM memory_blocks WHERE search_text = '');
