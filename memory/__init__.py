"""Everything that is stored, and who may read it. Nothing here depends on models, agents or platforms."""
