-- Blocks in which nothing was written yet are not searched. What stands in fields comes after a space, which the names of
-- fields do not have.
UPDATE memory_blocks SET search_text = ''
    WHERE profile = '' AND search_text <> '' AND (content = ''
        OR json_extract(schema, '$.type') = 'map' AND instr(content, ' ') = 0);
DELETE FROM vectors WHERE space_id IN (SELECT id FROM vector_spaces WHERE kind = 'block')
    AND row IN (SELECT n FROM memory_blocks WHERE search_text = '');
