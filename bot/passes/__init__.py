"""What models are asked for while nobody waits: long conversations, agents and days in short."""
