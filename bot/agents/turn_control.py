"""What holds everything that works on one turn: told to stop or to look again, all of it does."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class TurnControl:
    """Given by a conversation to the worker of a turn, and by that to the workers of its parts.

    `added` is set when something arrives in the conversation; `streams` says that people read an answer as it comes.
    `ending` is called while an answer is stored, so that it is claimed for sending in the same commit.
    """

    def __init__(
        self, added: asyncio.Event | None = None, ending: Callable[[], None] | None = None, *, streams: bool = False
    ) -> None:
        self.stopping = False
        """Return at the next stored step."""
        self.ran = False
        """Whether it is stored that the try came to a model call or a tool."""
        self.first = False
        """Whether that is stored with the first answer."""
        self.shown = False
        """Whether people saw any word of the answer."""
        self.added = asyncio.Event() if added is None else added
        self.streams = streams
        self.ending = ending
        self._held_since: float | None = None
        self._interrupts: list[Callable[[], None]] = []

    def interrupt(self) -> None:
        """Words of the turn changed: stop listening to models and look again."""
        for interrupt in tuple(self._interrupts):
            interrupt()

    def hold_left(self, seconds: float) -> float:
        """How much is left of the time for which an answer may be held back, counted from when this was first asked."""
        now = time.monotonic()
        if self._held_since is None:
            self._held_since = now
        return max(self._held_since + seconds - now, 0.0)

    @contextmanager
    def held(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Be told of interruptions until the context ends."""
        self._interrupts.append(interrupt)
        try:
            yield
        finally:
            self._interrupts.remove(interrupt)
