-- How a talk that is over went: judged once, by a model or by rules. No words: names of tools alone.

CREATE TABLE session_evaluations (
    session_id INTEGER PRIMARY KEY,    -- sessions.id
    agent_id TEXT NOT NULL,
    quality TEXT NOT NULL CHECK (quality IN ('good', 'fair', 'poor')),
    worked TEXT NOT NULL DEFAULT '[]', -- JSON arrays: names of tools that helped, and that failed or were missed
    failed TEXT NOT NULL DEFAULT '[]',
    judged_by TEXT NOT NULL CHECK (judged_by IN ('model', 'rules')),
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX session_evaluations_at ON session_evaluations (at);

-- A talk whose words change is judged anew, and one that is forgotten takes the judgement along.
CREATE TRIGGER session_evaluation_changed AFTER UPDATE OF ended ON sessions WHEN new.ended = 0 AND old.ended = 1 BEGIN
    DELETE FROM session_evaluations WHERE session_id = old.id;
END;
CREATE TRIGGER session_evaluation_gone AFTER DELETE ON sessions BEGIN
    DELETE FROM session_evaluations WHERE session_id = old.id;
END;
