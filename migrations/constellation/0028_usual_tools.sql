-- Who has every tool there is gets new ones too; `enabled_tools` is what that came to at the last start. Those whose
-- list is the one that agents of some earlier version were made with were never given a list of their own.
ALTER TABLE agents ADD COLUMN usual_tools INTEGER NOT NULL DEFAULT 0;
UPDATE agents SET usual_tools = 1 WHERE enabled_tools IN (
    '["context", "recall", "search", "send_message"]',
    '["calculate", "context", "emergency_halt", "recall", "search", "send_message", "web_fetch", "web_search"]',
    '["calculate", "context", "coord", "emergency_halt", "recall", "search", "send_message", "web_fetch", "web_search"]',
    '["bluesky", "calculate", "context", "coord", "emergency_halt", "recall", "search", "send_message", "web_fetch", "web_search"]',
    '["bluesky", "calculate", "context", "coord", "emergency_halt", "recall", "reminders", "search", "send_message", "tasks", "web_fetch", "web_search"]',
    '["bluesky", "calculate", "context", "coord", "emergency_halt", "events", "recall", "reminders", "search", "send_message", "tasks", "web_fetch", "web_search"]',
    '["bluesky", "calculate", "context", "coord", "emergency_halt", "events", "recall", "reminders", "search", "send_message", "tasks", "web_fetch", "web_search", "working_memory"]',
    '["bluesky", "calculate", "context", "coord", "emergency_halt", "events", "facts", "recall", "reminders", "search", "send_message", "tasks", "web_fetch", "web_search", "working_memory"]'
);
