-- Who wrote a block's description, and in which turn: it may be somebody else than who gave it its name.
ALTER TABLE memory_blocks ADD COLUMN described_by TEXT NOT NULL DEFAULT '';
ALTER TABLE memory_blocks ADD COLUMN described_turn INTEGER;

UPDATE memory_blocks SET described_by = named_by, described_turn = named_turn;
