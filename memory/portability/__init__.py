"""Exports of agents, groups and constellations as CAR files, and their import."""
