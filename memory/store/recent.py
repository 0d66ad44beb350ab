"""A small cache of recent values by key, and a rate limit per key."""

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class RecentValues(OrderedDict[K, V]):
    """The most recent values by key; the oldest are dropped."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def put(self, key: K, value: V) -> V:
        self[key] = value
        self.move_to_end(key)
        while len(self) > self._limit:
            self.popitem(last=False)
        return value


class Throttle(Generic[K]):
    """Limits each key to once every `seconds`; remembers the last `limit` keys."""

    def __init__(self, seconds: float, limit: int) -> None:
        self._seconds = seconds
        self._next: RecentValues[K, float] = RecentValues(limit)

    def wait(self, key: K, now: float) -> float:
        """Seconds until `key` is allowed again, counted as used then; `now` is from any monotonic clock."""
        due = max(now, self._next.get(key) or now)
        self._next.put(key, due + self._seconds)
        return due - now
