"""Language models: providers, fallback, retries, health, and the offline model."""
