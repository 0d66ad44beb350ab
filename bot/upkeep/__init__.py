"""Background work of models on memory. `memory.knowledge.consolidation` chooses, checks, applies and undoes it."""
