"""Agents and their turns, the operations people call, and the front ends that call them.

`interfaces` takes a command, `services` does what it asks, `agents` and `upkeep` do what needs a model, `runtime` runs
them, and `memory` stores the result.
"""
