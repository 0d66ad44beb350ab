-- What happens at a time: appointments, once or repeating. Its reminder is a job, 'event:<id>'.
CREATE TABLE events (
    id INTEGER PRIMARY KEY,            -- snowflake
    title TEXT NOT NULL,
    notes TEXT NOT NULL DEFAULT '',
    starts_at TEXT NOT NULL,           -- the first time
    ends_at TEXT,
    trigger_json TEXT NOT NULL,        -- when it happens, as scheduler/triggers.py dumps it
    zone TEXT NOT NULL,                -- by whose clocks
    reminder_minutes INTEGER,          -- so long before it is said; NULL: not
    status TEXT NOT NULL DEFAULT 'planned' CHECK (status IN ('planned', 'cancelled')),
    agent_id TEXT REFERENCES agents(id),
    person_id TEXT,
    place_id TEXT NOT NULL,            -- where its reminder is said
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;
CREATE INDEX events_status ON events (status, starts_at);
CREATE INDEX events_person ON events (person_id) WHERE person_id IS NOT NULL;
