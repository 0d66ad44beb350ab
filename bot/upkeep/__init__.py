"""Background work on memory by models. `memory.knowledge.consolidation` chooses, checks, applies and undoes it."""
