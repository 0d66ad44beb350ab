-- The words of a message one by one, as the embedder sees them in it: signs of vectors, 48 bytes for each word that
-- carries content. What people ask is compared with each of them. They go with the vector that they stand beside.
ALTER TABLE vectors ADD COLUMN tokens BLOB; -- NULL: of an embedder that tells nothing of words, or not a message's own

-- Of the embedder that brings them everything said so far is embedded once more; until then it is found as before.
INSERT INTO vector_queue (kind, row)
SELECT DISTINCT 'message', v.row FROM vectors v
JOIN vector_spaces s ON s.id = v.space_id JOIN vector_models m ON m.id = s.model_id
WHERE v.kind = 'message' AND s.view = 'own' AND m.current = 1 AND m.name = 'all-MiniLM-L6-v2-int8'
ON CONFLICT DO NOTHING;
