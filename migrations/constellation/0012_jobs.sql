-- Scheduled work, and what people want to be reminded of. The rows say when; nothing about time is kept elsewhere.

CREATE TABLE jobs (
    id TEXT PRIMARY KEY,               -- 'reminder:12', 'backup': who makes a job knows its id
    kind TEXT NOT NULL,                -- says what to do; the program has a handler for each
    payload TEXT NOT NULL DEFAULT '{}',-- JSON: ids for the handler, no words of people
    trigger_json TEXT NOT NULL,        -- when, as scheduler/triggers.py dumps it
    person_id TEXT,                    -- for whom it is
    audience TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'done', 'failed')),
    next_at TEXT,                      -- the planned time; NULL when there is none any more
    asked_at TEXT,                     -- somebody wants it run now
    held_until TEXT,                   -- somebody runs it, or a try failed: not looked at before that
    holder TEXT,                       -- who runs it
    grace_seconds REAL,                -- later than this it is skipped; NULL: however late
    attempts INTEGER NOT NULL DEFAULT 0, -- of the due time that is being tried
    last_due_at TEXT,
    last_run_at TEXT,
    last_outcome TEXT NOT NULL DEFAULT '',  -- 'run', 'late', 'skipped', 'failed'
    last_detail TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL,
    wake_at TEXT GENERATED ALWAYS AS (CASE
        WHEN held_until IS NOT NULL THEN held_until
        WHEN asked_at IS NOT NULL THEN asked_at
        WHEN status = 'active' THEN next_at END) VIRTUAL
) STRICT;
CREATE INDEX jobs_wake ON jobs (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX jobs_person ON jobs (person_id) WHERE person_id IS NOT NULL;
