"""The last few values by key, and when something may happen to a key again."""

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(OrderedDict[K, V]):
    """The last few values by key; the oldest go first."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def put(self, key: K, value: V) -> V:
        self[key] = value
        self.move_to_end(key)
        while len(self) > self._limit:
            self.popitem(last=False)
        return value


class Pace(Generic[K]):
    """Lets something happen to one thing no more often than every `seconds`; the last `limit` things are known."""

    def __init__(self, seconds: float, limit: int) -> None:
        self._seconds = seconds
        self._next: Recent[K, float] = Recent(limit)

    def wait(self, key: K, now: float) -> float:
        """Seconds until it may happen to `key` again, and counted as happening then; `now` is of any steady clock."""
        due = max(now, self._next.get(key) or now)
        self._next.put(key, due + self._seconds)
        return due - now
