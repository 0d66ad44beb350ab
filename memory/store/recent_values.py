"""A small cache of recent values by key, and what was made of recent objects."""

from collections import OrderedDict
from collections.abc import Callable
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


class MadeOf(Generic[K, V]):
    """Values made from the most recent objects, by their identity: comparing them would take longer, and some have
    no hash. Threads may share it; a value that two ask for at once is made twice."""

    def __init__(self, make: Callable[[K], V], limit: int) -> None:
        self._make = make
        self._known = RecentValues[int, tuple[K, V]](limit)

    def __call__(self, of: K) -> V:
        if (known := self._known.get(id(of))) is None:  # it keeps the object, so that no other gets its id
            known = self._known.put(id(of), (of, self._make(of)))
        return known[1]
