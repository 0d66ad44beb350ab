"""Inbox, turns, messages and outbox: the rows from which a restart continues."""
