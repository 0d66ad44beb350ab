"""Upkeep of memory that thinks, while nobody talks. `memory.dreams` chooses, checks, carries out and undoes."""
