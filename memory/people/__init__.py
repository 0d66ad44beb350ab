"""People: identities, audience, access and privacy; export and erasure of their data."""
