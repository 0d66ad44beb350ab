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
