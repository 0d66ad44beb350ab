-- Summaries of agents and of days say what made them; one of a day or week stands once for each audience.

ALTER TABLE agent_summaries ADD COLUMN model TEXT NOT NULL DEFAULT '';          -- which wrote it; 'offline': by rules
ALTER TABLE constellation_summaries ADD COLUMN model TEXT NOT NULL DEFAULT '';
ALTER TABLE constellation_summaries ADD COLUMN span TEXT NOT NULL DEFAULT 'day' CHECK (span IN ('day', 'week'));
ALTER TABLE constellation_summaries ADD COLUMN message_count INTEGER NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX constellation_summaries_once ON constellation_summaries (audience, span, period_start);
