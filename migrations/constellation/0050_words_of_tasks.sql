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
