"""Permissions: who may give which command, which calls of agents need approval, and how people are asked."""
