"""Thinks: agents and their turns, the operations people call, and the front ends that call them.

One subject runs through the layers: `interfaces` takes a command, `services` is what it does, `agents` and `upkeep` are
what a model does about it, `runtime` runs them, and `memory` keeps it.
"""
