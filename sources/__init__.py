"""Platforms: their messages become notifications, and outbox rows become messages there."""
