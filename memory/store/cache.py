"""What is kept in memory of one file, for as long as it is sure to be as the file is."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

K = TypeVar("K")
Later: TypeAlias = Callable[[Any], None]
"""Work for a unit of its own: it takes a `Tx`, and finds by itself what is to be done."""


class Kept:
    """What units of work keep in memory for later units of the same file, one object of a class.

    It is always as the file is. Only units touch it, so it belongs to the writer's thread, and it is emptied whenever
    it might differ from the file: at every rollback, be it of one unit or of a whole group; when another connection
    has committed; and when `Database.maintain` gave the connection away.
    """

    def __init__(self) -> None:
        self._objects: dict[type, Any] = {}
        self._version: int | None = None
        self.level = ""
        """How much of a commit SQLite waits for, as the connection was told last."""
        self.later: dict[Later, None] = {}
        """What units asked to be done soon after their commit, see `Tx.later`; a rollback leaves it."""

    def of(self, kind: type[K]) -> K:
        """The object of that class, made now if there is none."""
        found = self._objects.get(kind)
        if found is None:
            found = self._objects[kind] = kind()
        return cast("K", found)

    def clear(self) -> None:
        self._objects.clear()

    def at_version(self, version: int) -> None:
        """Forget everything if this is not the `data_version` of the last time: another connection has committed."""
        if version != self._version:
            self._objects.clear()
            self._version = version
