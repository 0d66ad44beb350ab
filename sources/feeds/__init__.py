"""Feeds, calendars and folders, of which agents can be told: what each has. Reading alone."""
