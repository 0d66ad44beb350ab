-- How somebody says they are, for those who hear the place where they said it; a group may be there for such a state.
CREATE TABLE person_states (
    person_id TEXT NOT NULL,
    audience TEXT NOT NULL,
    state TEXT NOT NULL,
    said_at TEXT NOT NULL,
    PRIMARY KEY (person_id, audience)
) STRICT, WITHOUT ROWID;
-- JSON: for which states of a person the group answers, as the table in the configuration says it.
ALTER TABLE agent_groups ADD COLUMN states TEXT NOT NULL DEFAULT '[]';
