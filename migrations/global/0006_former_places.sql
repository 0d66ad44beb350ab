-- To whom places belonged before: edits and deletions of what was said then still follow it there.

CREATE TABLE former_places (
    place_id TEXT NOT NULL,
    constellation_id TEXT NOT NULL REFERENCES constellations(id),
    PRIMARY KEY (place_id, constellation_id)
) STRICT, WITHOUT ROWID;
