"""People: identities, audience, access and privacy; export and erasure of what is kept about them."""
