"""Reminders, tasks and calendar events as rows."""
