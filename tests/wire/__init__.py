"""Servers that the program talks to over sockets, as Discord, Bluesky and a model would."""

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

LAUNCH = Path(__file__).parent / "launch"
"""On the PYTHONPATH of processes that are to be changed from outside."""
PATIENCE = 30.0
"""Seconds that a test waits for what has to come: many times what it takes, since only a failing test waits so long."""

UNSERVED: list[str] = []
"""Requests to the servers of this process for which they have no route: what follows from these never comes."""


def require_served() -> None:
    assert not UNSERVED, f"{', '.join(UNSERVED)}: not served, see ROUTES in tests/wire/discord/rest.py"


def bound(port: int) -> socket.socket:
    """A socket on a port of 127.0.0.1, any one for 0, that does not listen yet: whoever connects is refused.

    A server that is away keeps one, or the port could be given to a connection that somebody makes meanwhile.
    """
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    return made


async def until(
    true: Callable[[], object], seconds: float = PATIENCE, what: Callable[[], str] = lambda: "it does not come true"
) -> None:
    """Wait for what no server tells of; an AssertionError that says what is missing ends it."""
    try:
        async with asyncio.timeout(seconds):
            while not true():
                require_served()
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(what()) from None
