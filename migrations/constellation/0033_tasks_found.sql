-- Tasks are found again by their words and by meaning.

ALTER TABLE tasks ADD COLUMN search_text TEXT NOT NULL DEFAULT '';
UPDATE tasks SET search_text = trim(title || ' ' || notes); -- until the task changes; then as Python prepares it

CREATE VIRTUAL TABLE task_fts USING fts5(search_text, content='tasks', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO task_fts (task_fts, rank) VALUES ('secure-delete', 1);
INSERT INTO task_fts (rowid, search_text) SELECT id, search_text FROM tasks;
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

INSERT INTO vector_queue (kind, row) SELECT 'task', id FROM tasks;
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
