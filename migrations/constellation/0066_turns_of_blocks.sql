-- Which blocks a turn changed: what it wrote goes with the messages that it answered.
CREATE TABLE memory_block_turns (
    turn_id INTEGER NOT NULL,
    block_id TEXT NOT NULL REFERENCES memory_blocks(id) ON DELETE CASCADE,
    PRIMARY KEY (turn_id, block_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_block_turns_block ON memory_block_turns (block_id);

INSERT OR IGNORE INTO memory_block_turns (turn_id, block_id)
    SELECT e.turn_id, b.id FROM activity_events e JOIN memory_blocks b ON b.id = json_extract(e.details, '$.block')
    WHERE e.turn_id IS NOT NULL;

-- Where the activity has expired, or says only that a block was changed: those with changes from the time of a turn with
-- tools, or without any that old.
INSERT OR IGNORE INTO memory_block_turns (turn_id, block_id)
    WITH t AS (SELECT id, started_at AS start, coalesce(ended_at, '9') AS end FROM turns
        WHERE EXISTS (SELECT 1 FROM messages m WHERE m.batch_id = turns.id AND m.role = 'tool')
          AND (NOT EXISTS (SELECT 1 FROM activity_events e WHERE e.turn_id = turns.id)
            OR EXISTS (SELECT 1 FROM activity_events e WHERE e.turn_id = turns.id
                AND e.event_type = 'memory_block_updated' AND json_extract(e.details, '$.block') IS NULL)))
    SELECT t.id, b.id FROM t JOIN memory_blocks b ON b.updated_at >= t.start AND b.created_at <= t.end
    WHERE b.block_type <> 'log' AND (
        EXISTS (SELECT 1 FROM memory_block_updates u WHERE u.block_id = b.id AND u.created_at BETWEEN t.start AND t.end)
        OR (SELECT u.seq > 1 AND u.created_at > t.start FROM memory_block_updates u WHERE u.block_id = b.id
            ORDER BY u.seq LIMIT 1)
        OR b.next_seq > 1 AND NOT EXISTS (SELECT 1 FROM memory_block_updates u WHERE u.block_id = b.id));
