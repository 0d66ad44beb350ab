"""Servers that the program talks to over sockets, as Discord, Bluesky and a model would."""

PATIENCE = 30.0
"""Seconds that a test waits for what has to come: many times what it takes, since only a failing test waits so long."""
