-- Words were taken out of a block with the message that they came from: what agents and people did up to this version
-- they do not undo or do again, as the words could come back. The owner may, who sees the whole history.
ALTER TABLE memory_blocks ADD COLUMN sealed_seq INTEGER NOT NULL DEFAULT 0;
