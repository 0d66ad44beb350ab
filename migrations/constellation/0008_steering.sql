-- What was decided by command about places and sources; it wins over the configuration until it is taken back.
CREATE TABLE steering (
    kind TEXT NOT NULL CHECK (kind IN ('mode', 'group', 'pause')),
    subject TEXT NOT NULL,             -- mode: 'discord:<channel, category or guild>'; group: a binding; pause: a source
    value TEXT NOT NULL,               -- the mode; the group's id; nothing
    decided_by TEXT NOT NULL,          -- person id
    decided_at TEXT NOT NULL,
    PRIMARY KEY (kind, subject)
) STRICT, WITHOUT ROWID;
