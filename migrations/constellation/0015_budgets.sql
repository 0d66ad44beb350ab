-- What may be spent on models, by command; it wins over the configuration for the same subject and period.
CREATE TABLE budgets (
    subject TEXT NOT NULL,             -- 'constellation', 'agent:<name>', 'guild', 'guild:<id>', 'person', 'person:<id>'
    period TEXT NOT NULL CHECK (period IN ('day', 'month')),
    usd REAL,                          -- NULL: no limit in money
    tokens INTEGER,                    -- NULL: no limit in tokens
    decided_by TEXT NOT NULL,          -- person id
    decided_at TEXT NOT NULL,
    PRIMARY KEY (subject, period)
) STRICT, WITHOUT ROWID;

-- What calls that are being made will probably cost. Rows of a process that ended go at the next start.
CREATE TABLE budget_reservations (
    id INTEGER PRIMARY KEY,
    turn_id INTEGER NOT NULL,
    agent_id TEXT NOT NULL,
    person_id TEXT,
    guild_id TEXT,
    usd REAL,                          -- NULL: the price is not known
    tokens INTEGER NOT NULL,
    at TEXT NOT NULL
) STRICT;

ALTER TABLE model_usage ADD COLUMN guild_id TEXT;  -- 'guild:...' in which the answer was heard, if in one
CREATE INDEX model_usage_at ON model_usage (at);
