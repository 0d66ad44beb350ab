-- What was learned from projects: what reviews found, what somebody wants for projects, how finished ones were rated.

CREATE TABLE project_learnings (
    id INTEGER PRIMARY KEY,            -- snowflake
    kind TEXT NOT NULL CHECK (kind IN ('review', 'preference', 'project')),
    text TEXT NOT NULL,                -- the issue, the wish, or what the project was
    key TEXT NOT NULL,                 -- its words, folded
    tech TEXT NOT NULL DEFAULT '',     -- of a project: what it was made with
    times INTEGER NOT NULL DEFAULT 1,  -- of an issue: in how many reviews it was found
    ratings TEXT NOT NULL DEFAULT '{}', -- of a project: JSON object, 1 to 5 by axis
    messages TEXT NOT NULL DEFAULT '[]', -- JSON array: from which messages; empty: by hand
    person_id TEXT NOT NULL,           -- who said it
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,            -- the lowest of its sources
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;
CREATE INDEX project_learnings_heard ON project_learnings (audience, kind);
CREATE INDEX project_learnings_person ON project_learnings (person_id);

-- Words that are changed, taken back, or kept to fewer people take along what was made of them.
CREATE TRIGGER projects_message_changed AFTER UPDATE OF content, audience, deleted_at ON messages
WHEN new.content <> old.content OR new.audience <> old.audience OR new.deleted_at IS NOT old.deleted_at BEGIN
    DELETE FROM project_learnings WHERE old.id IN (SELECT value FROM json_each(messages));
END;
CREATE TRIGGER projects_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM project_learnings WHERE old.id IN (SELECT value FROM json_each(messages));
END;
