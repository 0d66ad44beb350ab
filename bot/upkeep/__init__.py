"""Background work of models on memory; settings, commands and tables call it dreams.

`memory.knowledge.upkeep` chooses, checks, applies and undoes it.
"""
