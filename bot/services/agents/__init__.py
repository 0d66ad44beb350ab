"""Agents, their groups, and what they have to do."""
