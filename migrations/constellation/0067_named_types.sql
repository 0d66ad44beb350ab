-- What is stored of several types names its type, which was recognized by its fields before. Nothing is named where a row
-- says all in its kind, or is of the most frequent type.

UPDATE turn_steps SET body = json_set(body, '$.type', CASE
        WHEN body -> '$.recovery' IS NOT NULL THEN 'taken_up' WHEN kind = 'note' THEN 'missing'
        WHEN coalesce(body -> '$.request', body -> '$.data.waiting') IS NOT NULL THEN 'waits' ELSE 'failed' END)
    WHERE iif(json_valid(body), kind = 'tool_result' AND body -> '$.trust' IS NULL
        OR kind = 'note' AND coalesce(body -> '$.recovery', body -> '$.force') IS NOT NULL, 0);

UPDATE outbox SET detail = json_set(detail, '$.type', CASE
        WHEN detail -> '$.edits' IS NOT NULL THEN 'edit' WHEN detail -> '$.card' IS NOT NULL THEN 'card' ELSE 'act' END)
    WHERE iif(json_valid(detail), coalesce(detail -> '$.edits', detail -> '$.card', detail -> '$.act') IS NOT NULL, 0);

UPDATE inbox SET payload = json_set(payload, '$.type', CASE
        WHEN payload -> '$.edited' IS NOT NULL THEN 'edit' WHEN payload -> '$.request' IS NOT NULL THEN 'decision'
        WHEN payload -> '$.task' IS NOT NULL THEN 'patrol' WHEN payload -> '$.hops' IS NOT NULL THEN 'task'
        WHEN payload -> '$.priority' IS NOT NULL THEN 'trigger' WHEN payload -> '$.to' IS NOT NULL THEN 'letter'
        ELSE 'news' END)
    WHERE iif(json_valid(payload), coalesce(payload -> '$.edited', payload -> '$.request', payload -> '$.agent',
        payload -> '$.to') IS NOT NULL, 0);

UPDATE activity_events SET details = json_set(details, '$.type', CASE
        WHEN event_type = 'file_accessed' THEN iif(details -> '$.files' IS NULL, 'folder', 'attachments')
        WHEN details -> '$.task' IS NOT NULL THEN 'task' WHEN details -> '$.note' IS NOT NULL THEN 'note'
        WHEN details -> '$.entry' IS NOT NULL THEN 'entry' WHEN details -> '$.dream' IS NOT NULL THEN 'tidied'
        ELSE 'undone' END)
    WHERE iif(json_valid(details), event_type = 'file_accessed' OR event_type = 'notable' AND details <> '{}', 0);
