-- Groups of several agents: what they are told, what one run of them came to, and what they remember between runs.

ALTER TABLE agent_groups ADD COLUMN keywords TEXT NOT NULL DEFAULT '[]';  -- JSON array of words that bring a message
ALTER TABLE agent_groups ADD COLUMN mention INTEGER NOT NULL DEFAULT 1;   -- whether its name brings one
ALTER TABLE group_members ADD COLUMN domain TEXT NOT NULL DEFAULT '';
ALTER TABLE group_members ADD COLUMN capabilities TEXT NOT NULL DEFAULT '[]';
ALTER TABLE group_members ADD COLUMN model TEXT NOT NULL DEFAULT '';      -- its model in this group; '': its own

-- What a pattern keeps between runs: whose turn is next, who was asked when, when a trigger fired. No words of people.
CREATE TABLE group_states (
    group_id TEXT PRIMARY KEY REFERENCES agent_groups(id) ON DELETE CASCADE,
    state TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row for each message (or burst of one person) that a group answers: the turn that has claimed it.
CREATE TABLE group_runs (
    turn_id INTEGER PRIMARY KEY REFERENCES turns(id) ON DELETE CASCADE,
    group_id TEXT NOT NULL,
    pattern TEXT NOT NULL,
    settings TEXT NOT NULL,            -- what the group was told when the run began
    conducted INTEGER NOT NULL,        -- 0: the turn's own agent answers; 1: the answer is made of parts
    plan TEXT NOT NULL DEFAULT '{}',   -- what was decided when it began
    outcome TEXT NOT NULL DEFAULT '{}',-- what it came to: who spoke, ballots and tally
    person_id TEXT,
    audience TEXT NOT NULL,
    started_at TEXT NOT NULL,
    ended_at TEXT
) STRICT;
CREATE INDEX group_runs_group ON group_runs (group_id, turn_id);

-- What one member is asked to do in a run, by a turn of its own.
CREATE TABLE group_parts (
    turn_id INTEGER PRIMARY KEY REFERENCES turns(id) ON DELETE CASCADE,
    run_id INTEGER NOT NULL REFERENCES turns(id) ON DELETE CASCADE,
    asked_by INTEGER NOT NULL,         -- the turn that waits for it: the run's, or that of an agent that delegated
    call_id TEXT NOT NULL DEFAULT '',  -- the call by which it was delegated
    agent_id TEXT NOT NULL REFERENCES agents(id),
    kind TEXT NOT NULL CHECK (kind IN ('answer', 'stage', 'ballot', 'choice', 'task', 'observe')),
    stage INTEGER NOT NULL DEFAULT 0,
    attempt INTEGER NOT NULL DEFAULT 1,
    task TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL CHECK (status IN ('running', 'done', 'failed', 'late')),
    output TEXT NOT NULL DEFAULT '',
    detail TEXT NOT NULL DEFAULT '{}', -- JSON: a ballot, a choice
    person_id TEXT,
    audience TEXT NOT NULL,
    started_at TEXT NOT NULL,
    ended_at TEXT
) STRICT;
CREATE INDEX group_parts_run ON group_parts (run_id, turn_id);
CREATE INDEX group_parts_open ON group_parts (kind) WHERE status = 'running';
CREATE INDEX turns_parent ON turns (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX group_parts_call ON group_parts (asked_by, call_id) WHERE call_id <> '';
