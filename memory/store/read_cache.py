"""What the writer remembers between its transactions: reads of what seldom changes, until one of their tables does."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from memory.store.recent import RecentValues
from memory.store.sqlite import Connection

T = TypeVar("T")

_WATCHED = {
    "agents": "",
    "agent_groups": "",
    "group_members": "",
    "folder_attachments": "",
    "constellation_blocks": "",
    "memory_blocks": "",
    "shared_block_agents": "",
    "steering": "",
    "places": "WHEN (old.name, old.within, old.bindings) IS NOT (new.name, new.within, new.bindings)",
    "person_times": "",
    "unshown_people": "",
    "archival_entries": "",
    "facts": "",
    "items": "",
    "tasks": "",
}
"""The tables, and of which updates they tell."""
_MOST = 300


class ReadCache:
    """For one connection and its thread. Its temporary triggers tell of its own changes, also of those that follow from
    others; `PRAGMA data_version` of those by other connections."""

    def __init__(self) -> None:
        self._found = RecentValues[Hashable, tuple[list[int], Any]](_MOST)
        self._changes = dict[str, int]()
        """How often each watched table has changed."""
        self._version = 0
        self._current = False
        """Whether this transaction has looked for changes by others, who can make none before its end."""

    def watch(self, raw: Connection) -> None:
        """Begin; in the file of accounts there is nothing to watch."""
        raw.create_function("carina_changed", 1, self._note)
        known = {name for (name,) in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()}
        self._changes = dict.fromkeys(_WATCHED if known >= _WATCHED.keys() else (), 0)
        for table in self._changes:
            for event, condition in (("INSERT", ""), ("UPDATE", _WATCHED[table]), ("DELETE", "")):
                raw.execute(f"""CREATE TEMP TRIGGER {table}_{event} AFTER {event} ON main.{table} {condition}
                                BEGIN SELECT carina_changed('{table}'); END""")

    def _note(self, table: str) -> None:
        self._changes[table] += 1

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What is read in a transaction that is rolled back is forgotten."""
        self._current = False
        try:
            yield
        except BaseException:
            self._found.clear()
            raise

    def get(self, raw: Connection, tables: Sequence[str], key: Hashable, read: Callable[[], T]) -> T:
        if not self._changes:
            return read()
        if not self._current:
            (version,) = raw.execute("PRAGMA data_version").fetchone()
            if version != self._version:
                self._found.clear()
            self._version, self._current = version, True
        changes = [self._changes[table] for table in tables]
        if (found := self._found.get(key)) is not None and found[0] == changes:
            result: T = found[1]
            return result
        result = read()
        self._found.put(key, (changes, result))
        return result
