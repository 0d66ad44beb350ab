"""A small Bluesky server behind a real socket, for tests: accounts, posts, threads and notifications over XRPC."""

from tests.wire.bluesky.server import BlueskyServer
from tests.wire.bluesky.world import Post, User

__all__ = ["BlueskyServer", "Post", "User"]
