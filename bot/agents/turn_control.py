"""What holds everything that works on one turn: told to stop or to look again, all of it does."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class TurnControl:
    """Given by a conversation to the worker of a turn, and by that to the workers of its parts."""

    def __init__(self) -> None:
        self.stopping = False
        """Return at the next stored step."""
        self.ran = False
        """Whether the try came to a model call or a tool."""
        self._interrupts: list[Callable[[], None]] = []

    def interrupt(self) -> None:
        """Words of the turn changed: stop listening to models and look again."""
        for interrupt in tuple(self._interrupts):
            interrupt()

    @contextmanager
    def held(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Be told of interruptions until the context ends."""
        self._interrupts.append(interrupt)
        try:
            yield
        finally:
            self._interrupts.remove(interrupt)
