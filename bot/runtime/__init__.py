"""What runs while the service runs: router, conversations, deliveries and their supervisor."""
