-- When the next job of a constellation is due, so that files in which nothing is due stay closed. It may be too early,
-- never too late: it is looked up again in every file at a start.
CREATE TABLE job_wakes (
    constellation_id TEXT PRIMARY KEY REFERENCES constellations(id),
    next_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX job_wakes_due ON job_wakes (next_at);
