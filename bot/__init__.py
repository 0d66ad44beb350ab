"""Agents and their turns, the operations for people, and the front ends that call them.

`interfaces` takes a command, `services` carries it out, `agents` and `upkeep` do the work of models, `runtime` runs
them, and `memory` stores the result.
"""
