"""The long-running parts of the service: router, conversations, deliveries and their supervisor."""
