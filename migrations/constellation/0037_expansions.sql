-- What a model made of entries that were saved to be expanded: it goes with what it was made of, unless somebody said
-- the same by itself since. Numbers of rows, without words.

CREATE TABLE entry_expansions (
    source_id TEXT NOT NULL,           -- archival_entries.id: what was saved
    entry_id TEXT NOT NULL,            -- archival_entries.id: what was made of it
    PRIMARY KEY (source_id, entry_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX entry_expansions_entry ON entry_expansions (entry_id);

CREATE TRIGGER expansion_gone AFTER DELETE ON archival_entries BEGIN
    DELETE FROM entry_expansions WHERE source_id = old.id OR entry_id = old.id;
    DELETE FROM jobs WHERE id = 'expand:' || old.id;
END;
