-- The message that an event is about, kept when the event is over: what its turn wrote goes with that message.
ALTER TABLE inbox ADD COLUMN about_id INTEGER;
UPDATE inbox SET about_id = json_extract(payload, '$.about') WHERE kind = 'event';
CREATE INDEX inbox_about ON inbox (about_id) WHERE about_id IS NOT NULL;
