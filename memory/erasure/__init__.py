"""Erasing messages with everything derived from them, and people with all their data."""
