-- What people want to do and to be reminded of, and by which clocks they live.

CREATE TABLE tasks (
    id INTEGER PRIMARY KEY,            -- snowflake
    title TEXT NOT NULL,
    notes TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'in_progress', 'completed', 'cancelled')),
    priority TEXT NOT NULL DEFAULT 'medium' CHECK (priority IN ('low', 'medium', 'high', 'urgent')),
    parent_id INTEGER REFERENCES tasks(id) ON DELETE SET NULL,
    agent_id TEXT REFERENCES agents(id),  -- who wrote it down; NULL: the person, by command
    person_id TEXT,                    -- whose it is
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    due_at TEXT,
    done_at TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;
CREATE INDEX tasks_open ON tasks (status, id);
CREATE INDEX tasks_person ON tasks (person_id) WHERE person_id IS NOT NULL;

CREATE TABLE reminders (
    id INTEGER PRIMARY KEY,            -- snowflake; its job is 'reminder:<id>'
    text TEXT NOT NULL,
    person_id TEXT,                    -- who is reminded
    agent_id TEXT REFERENCES agents(id),  -- who set it; NULL: the person, by command
    place_id TEXT NOT NULL,            -- where it is said
    audience TEXT NOT NULL,            -- who heard it being set: nobody else ever hears it
    trust INTEGER NOT NULL,
    trigger_json TEXT NOT NULL,        -- as of its job
    zone TEXT NOT NULL,                -- by whose clocks it was meant
    urgent INTEGER NOT NULL DEFAULT 0, -- quiet hours do not hold it back
    escalate_minutes INTEGER NOT NULL DEFAULT 0, -- said once more when nobody did anything about it; 0: not
    status TEXT NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'told', 'escalated', 'done', 'cancelled')),
    told_at TEXT,
    told_key TEXT,                     -- of the outbox row that said it last
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;
CREATE INDEX reminders_open ON reminders (status, id);
CREATE INDEX reminders_person ON reminders (person_id) WHERE person_id IS NOT NULL;

-- No row: the zone of the house, and no quiet hours.
CREATE TABLE person_times (
    person_id TEXT PRIMARY KEY,
    zone TEXT NOT NULL DEFAULT '',     -- '': that of the house
    quiet_from TEXT NOT NULL DEFAULT '', -- '22:30'
    quiet_until TEXT NOT NULL DEFAULT '',
    updated_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
