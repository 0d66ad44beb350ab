"""The last few values by key, and when something may happen to a key again."""

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The last few values by key; the oldest go first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[K, V] = OrderedDict()

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        return self._values.get(key)

    def put(self, key: K, value: V) -> V:
        self._values[key] = value
        self._values.move_to_end(key)
        while len(self._values) > self._limit:
            self._values.popitem(last=False)
        return value

    def clear(self) -> None:
        self._values.clear()

    def values(self) -> list[V]:
        return list(self._values.values())

    def items(self) -> list[tuple[K, V]]:
        return list(self._values.items())


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
