-- The blocks of the constellation as the configuration has them: made where they are missing, for every audience that
-- they are for. What stands is in memory_blocks, under the owner '_constellation_'.

CREATE TABLE constellation_blocks (
    label TEXT PRIMARY KEY,
    seed TEXT NOT NULL,                -- JSON, as an agent's row keeps its own blocks
    permissions TEXT NOT NULL          -- JSON, by agents.id: those of agents that have another than the block's
) STRICT, WITHOUT ROWID;
