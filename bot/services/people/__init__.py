"""Who may do what, what is stored about whom, and people's own reminders, events and tasks."""
