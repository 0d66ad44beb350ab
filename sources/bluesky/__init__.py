"""Bluesky: posts that address the account become notifications, agents' answers become replies, once.

Import from the modules: `source` (BlueskySource, Wiring), `settings`, `failures`. This file imports nothing: the
atproto library takes half a second and 70 MB, and only a service with Bluesky pays for it.
"""
