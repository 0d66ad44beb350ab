"""Where the time goes: the program's own functions, timed from outside for as long as a benchmark runs.

Everything between two calls of `close` belongs to one sample, so what is measured must run one after the other.
The writer's thread and the event loop both add to a sample, never at the same moment.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from memory.store import database
from memory.store.database import Database
from memory.store.faults import Point
from tests.benchmarks.report import percentile


class Spans:
    """Seconds by name, sample by sample."""

    def __init__(self) -> None:
        self.samples: list[dict[str, float]] = []
        self.began: dict[str, float] = {}
        """When a span of that name began last, and below it ended; on the clock of `time.perf_counter`."""
        self.ended: dict[str, float] = {}
        self._open: dict[str, float] = {}

    def add(self, name: str, begin: float) -> None:
        now = time.perf_counter()
        self._open[name] = self._open.get(name, 0.0) + now - begin
        self.began[name], self.ended[name] = begin, now

    def close(self) -> dict[str, float]:
        sample, self._open = self._open, {}
        self.samples.append(sample)
        return sample

    def forget(self) -> None:
        """Drop what was measured so far: it was for warming up."""
        self.samples.clear()
        self._open = {}

    def of(self, *names: str) -> list[float]:
        """Milliseconds of the sum of these spans, by sample."""
        return [1000 * sum(sample.get(name, 0.0) for name in names) for sample in self.samples]

    def row(self, title: str, *names: str) -> tuple[str, float, float]:
        """A line of a breakdown: title, median and 99th percentile."""
        found = self.of(*names)
        return title, percentile(found, 0.5), percentile(found, 0.99)

    def rest(self, title: str, whole: str, *parts: str) -> tuple[str, float, float]:
        """A line for what of the whole is in none of the parts."""
        found = [a - b for a, b in zip(self.of(whole), self.of(*parts), strict=True)]
        return title, percentile(found, 0.5), percentile(found, 0.99)


@contextmanager
def timed(spans: Spans, places: Sequence[tuple[Any, str, str]]) -> Iterator[None]:
    """Time plain functions: (module or class, attribute, name of the span)."""
    with ExitStack() as stack:
        for owner, attribute, name in places:
            function = getattr(owner, attribute)
            stack.enter_context(patch.object(owner, attribute, _timed(spans, function, name)))
        yield


def _timed(spans: Spans, function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        begin = time.perf_counter()
        try:
            return function(*arguments, **named)
        finally:
            spans.add(name, begin)

    return call


@contextmanager
def timed_writes(spans: Spans) -> Iterator[None]:
    """Time every write under the name of its point: the caller's wait, and ":commit", ":units" on the thread."""
    commit, units, write = Database._commit, database._run_units, Database.write

    def timed_commit(self: Database, raw: Any, batch: Any) -> Any:
        return _timed(spans, commit, f"{batch[0].point.name}:commit")(self, raw, batch)

    def timed_units(raw: Any, batch: Any) -> Any:
        return _timed(spans, units, f"{batch[0].point.name}:units")(raw, batch)

    def timed_write(self: Database, point: Point, work: Any, *, durable: bool = False) -> Any:
        begin, done = time.perf_counter(), write(self, point, work, durable=durable)
        done.add_done_callback(lambda _: spans.add(point.name, begin))
        return done

    with ExitStack() as stack:
        stack.enter_context(patch.object(Database, "_commit", timed_commit))
        stack.enter_context(patch.object(database, "_run_units", timed_units))
        stack.enter_context(patch.object(Database, "write", timed_write))
        yield
