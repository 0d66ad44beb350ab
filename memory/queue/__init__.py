"""Inbox, turns, messages and outbox: the rows from which the service continues after a restart."""
