"""What memory holds, and what people do with it."""
