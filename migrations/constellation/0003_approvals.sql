-- Humans in charge: what an agent asked to do, who may say yes, what was allowed, and the record of it all.

-- A call that waits for a yes, or once did. Buttons and commands carry nothing but its id.
CREATE TABLE permission_requests (
    id INTEGER PRIMARY KEY,            -- snowflake
    scope TEXT NOT NULL CHECK (scope IN ('tool_execution', 'memory_edit', 'memory_batch', 'data_source_action')),
    subject TEXT NOT NULL,             -- the tool, block or place
    agent_id TEXT NOT NULL REFERENCES agents(id),
    group_id TEXT NOT NULL,
    turn_id INTEGER NOT NULL,          -- the turn that asked
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    arguments TEXT NOT NULL,           -- exactly as the agent gave them
    digest BLOB NOT NULL,              -- SHA-256 of tool and arguments
    covers TEXT NOT NULL,              -- JSON array of [scope, subject, version]: all that the yes covers
    pattern TEXT NOT NULL,             -- JSON object: the arguments that a lasting yes fixes
    reason TEXT NOT NULL,              -- why it is asked, in words
    place_id TEXT NOT NULL,
    person_id TEXT,                    -- whose turn it was
    audience TEXT NOT NULL,
    within TEXT NOT NULL DEFAULT '[]',
    trust INTEGER NOT NULL,
    approvers TEXT NOT NULL,           -- JSON array: persons, and roles as 'role:<guild>:<role>'
    quorum INTEGER NOT NULL DEFAULT 1 CHECK (quorum > 0),
    once_only INTEGER NOT NULL DEFAULT 0, -- destructive: no lasting grant is offered
    status TEXT NOT NULL CHECK (status IN ('waiting', 'approved', 'denied', 'expired', 'withdrawn', 'used')),
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    decided_at TEXT
) STRICT;
CREATE UNIQUE INDEX permission_requests_call ON permission_requests (turn_id, call_id) WHERE status = 'waiting';
CREATE INDEX permission_requests_waiting ON permission_requests (expires_at) WHERE status = 'waiting';

-- One row for each approver's word.
CREATE TABLE permission_votes (
    request_id INTEGER NOT NULL REFERENCES permission_requests(id) ON DELETE CASCADE,
    person_id TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('once', 'hour', 'always', 'deny')),
    audience TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (request_id, person_id)
) STRICT, WITHOUT ROWID;

-- What was allowed for more than once. `pattern` is the JSON object of arguments that a call must have.
CREATE TABLE permission_grants (
    id INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    subject TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    pattern TEXT NOT NULL,
    audience TEXT NOT NULL,
    person_id TEXT NOT NULL,           -- who allowed it
    request_id INTEGER,
    created_at TEXT NOT NULL,
    expires_at TEXT,                   -- NULL: until it is revoked
    revoked_at TEXT
) STRICT;
CREATE INDEX permission_grants_subject ON permission_grants (scope, subject, agent_id) WHERE revoked_at IS NULL;

-- Every decision and every use, append only; erasing a person takes out who it was and the digest, nothing else.
CREATE TABLE permission_audit (
    id INTEGER PRIMARY KEY,
    event TEXT NOT NULL,               -- 'asked', 'voted', 'approved', 'denied', 'expired', 'used', 'granted', 'revoked', ...
    request_id INTEGER,
    grant_id INTEGER,
    person_id TEXT,                    -- who did it
    agent_id TEXT,
    scope TEXT,
    digest BLOB,
    detail TEXT NOT NULL DEFAULT '',   -- words of ours, never of anybody else
    audience TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE TRIGGER permission_audit_stays BEFORE DELETE ON permission_audit BEGIN
    SELECT raise(ABORT, 'the record of permissions is append only');
END;
CREATE TRIGGER permission_audit_says BEFORE UPDATE ON permission_audit
    WHEN old.event <> new.event OR old.at <> new.at OR old.request_id IS NOT new.request_id
        OR old.grant_id IS NOT new.grant_id OR old.agent_id IS NOT new.agent_id OR old.detail <> new.detail
        OR old.scope IS NOT new.scope OR (new.digest IS NOT NULL AND old.digest IS NOT new.digest)
        OR (new.person_id IS NOT NULL AND old.person_id IS NOT new.person_id) BEGIN
    SELECT raise(ABORT, 'the record of permissions is append only');
END;

-- Rate limits count the turns of the last hour before each turn.
CREATE INDEX turns_started ON turns (started_at);
