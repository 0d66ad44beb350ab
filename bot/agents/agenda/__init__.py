"""Reminders and events of people: set, listed, and said when they are due."""
