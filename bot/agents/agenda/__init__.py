"""Reminders and events of people: setting, listing and announcing them."""
