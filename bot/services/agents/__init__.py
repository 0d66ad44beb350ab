"""Agents, their groups and constellations, and what they cost."""
