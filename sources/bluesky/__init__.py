"""Bluesky: posts that are addressed to the account become notifications, what agents say becomes replies, once.

Import from the modules: `source` (BlueskySource, Wiring), `settings`, `failures`. This file loads nothing: the atproto
library takes half a second and 70 MB, and only a service that serves Bluesky pays for it.
"""
