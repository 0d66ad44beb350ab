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
