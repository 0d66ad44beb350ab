"""Calculates when jobs are due, and runs them. All state is in the tables of `memory.jobs`."""
