"""Turns of agents: the prompt, the next step, tool calls, permissions, groups."""
