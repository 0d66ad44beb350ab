"""Agents, their groups, and their work."""
