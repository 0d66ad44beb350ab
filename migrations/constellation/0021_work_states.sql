-- What an agent was doing when its work came to nothing: of the newest such turn in a place, for who heard it. Of a turn
-- that runs it is never written down: its steps say it.
CREATE TABLE work_states (
    agent_id TEXT NOT NULL,
    place_id TEXT NOT NULL,
    turn_id INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('failed', 'cancelled')),
    prompt TEXT NOT NULL,              -- what was asked; '' when that was taken back
    summary TEXT NOT NULL,             -- what was done
    decisions TEXT NOT NULL,           -- this and the next four: JSON arrays of texts
    next_steps TEXT NOT NULL,
    unfinished TEXT NOT NULL,
    files TEXT NOT NULL,
    commits TEXT NOT NULL,
    last_activity TEXT NOT NULL,
    messages TEXT NOT NULL,            -- JSON array: the ids of those it answered
    person_id TEXT,
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    at TEXT NOT NULL,                  -- when its last step was stored
    PRIMARY KEY (agent_id, place_id, audience)
) STRICT, WITHOUT ROWID;
CREATE INDEX work_states_person ON work_states (person_id) WHERE person_id IS NOT NULL;

CREATE TRIGGER work_states_message_changed AFTER UPDATE OF content, audience, deleted_at ON messages
WHEN new.content <> old.content OR new.audience <> old.audience OR new.deleted_at IS NOT old.deleted_at BEGIN
    DELETE FROM work_states WHERE place_id = old.place_id
        AND old.id IN (SELECT value FROM json_each(work_states.messages));
END;
CREATE TRIGGER work_states_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM work_states WHERE place_id = old.place_id
        AND old.id IN (SELECT value FROM json_each(work_states.messages));
END;
