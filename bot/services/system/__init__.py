"""The service itself: its queues, jobs, sources, backups and settings."""
