"""Configuration files to begin with (`carina init`)."""
