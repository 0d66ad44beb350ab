"""Keeps: everything that is stored, with who may read it. Nothing here knows of models, agents' turns or platforms."""
