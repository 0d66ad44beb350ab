-- Who gave a block its name and description, and in which turn: they are that writer's words. '' where it is not known.
ALTER TABLE memory_blocks ADD COLUMN named_by TEXT NOT NULL DEFAULT '';
ALTER TABLE memory_blocks ADD COLUMN named_turn INTEGER;

-- A note that a person created a block has no id of the block; it follows the block within moments.
UPDATE memory_blocks SET named_by = coalesce((
    SELECT 'person:' || e.person_id FROM activity_events e
    WHERE e.event_type = 'memory_block_updated' AND e.agent_id IS NULL AND e.audience = memory_blocks.audience
      AND json_extract(e.details, '$.change') = 'created'
      AND julianday(e.at) - julianday(memory_blocks.created_at) BETWEEN 0 AND 0.0001
    ORDER BY e.id LIMIT 1), '');

UPDATE memory_blocks SET named_by = 'agent:' || agent_id, named_turn = (
    SELECT e.turn_id FROM activity_events e
    WHERE e.event_type = 'memory_block_updated' AND json_extract(e.details, '$.block') = memory_blocks.id
      AND json_extract(e.details, '$.change') = 'create'
    ORDER BY e.id LIMIT 1)
WHERE named_by = '';
UPDATE memory_blocks SET named_by = '' WHERE named_by LIKE 'agent:%' AND named_turn IS NULL;
