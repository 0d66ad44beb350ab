"""Work that makes very many small objects without any cycle among them, while Python looks for cycles later.

A full collection holds up every thread: 40 ms in a process that has only just started, 130 ms and more while the ten
thousand changes of a block are replayed, which made Python begin several. Nothing of them needs it: they go by their
counts.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Pause:
    """Of all threads together: how many are at such work, and whether Python collected before the first began."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._was_on = True

    def begin(self) -> None:
        with self._lock:
            if not self._running:
                self._was_on = gc.isenabled()
                gc.disable()
            self._running += 1

    def end(self) -> None:
        with self._lock:
            self._running -= 1
            if not self._running and self._was_on:
                gc.enable()


_pause = _Pause()


@contextmanager
def uncollected() -> Iterator[None]:
    """Let no collection begin until all that run so, on whatever thread, are through."""
    _pause.begin()
    try:
        yield
    finally:
        _pause.end()
