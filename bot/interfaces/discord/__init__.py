"""Slash commands made from the registry, and the buttons that call its operations."""
