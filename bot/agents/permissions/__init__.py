"""Permissions: who may use which command, which calls of agents need approval, and how people are asked."""
