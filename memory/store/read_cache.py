"""What the writer remembers between its transactions: reads of what seldom changes, until one of their tables does; and
of conversations, to which each turn only adds, the newest messages."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, Protocol, TypeVar

from memory.store.recent_values import RecentValues
from memory.store.sqlite import Connection


class Numbered(Protocol):
    @property
    def id(self) -> int: ...


T = TypeVar("T")
M = TypeVar("M", bound=Numbered)

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
_CONVERSATION = {
    "INSERT ON main.messages": "new.place_id, new.id",
    "UPDATE ON main.messages": "old.place_id, old.id",
    "UPDATE OF place_id ON main.messages": "new.place_id, new.id",
    "DELETE ON main.messages": "old.place_id, old.id",
    "INSERT ON main.inbox": "new.place_id, new.message_id",
    "UPDATE OF status ON main.inbox": "new.place_id, new.message_id",
    "UPDATE OF message_id ON main.inbox": "new.place_id, min(new.message_id, ifnull(old.message_id, new.message_id))",
    "DELETE ON main.inbox": "old.place_id, old.message_id",
}
"""What changes a conversation, and which of its messages."""
_conversations = RecentValues[Any, tuple[Hashable, int, Sequence[Any]]](20)
"""Of all files, since each may have hundreds of messages: what was read, the id of the last one, and the messages."""
_lock = Lock()


class ReadCache:
    """For one connection and its thread. Its temporary triggers tell of its own changes, also of those that follow from
    others; `PRAGMA data_version` of those by other connections."""

    def __init__(self) -> None:
        self._found = RecentValues[Hashable, tuple[list[int], Any]](_MOST)
        self._changes = dict[str, int]()
        """How often each watched table has changed."""
        self._version = 0
        self._epoch = object()
        """Ends when anything may have changed in another way than the triggers tell."""
        self._current = False
        """Whether this transaction has looked for changes by others, who can make none before its end."""

    def watch(self, raw: Connection) -> None:
        """Begin; in the file of accounts there is nothing to watch."""
        raw.create_function("carina_table_changed", 1, self._note_table)
        raw.create_function("carina_message_changed", 2, self._note_message)
        known = {name for (name,) in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()}
        if not known >= _WATCHED.keys():
            return
        self._changes = dict.fromkeys(_WATCHED, 0)
        told = [
            (
                f"{event} ON main.{table} {_WATCHED[table] if event == 'UPDATE' else ''}",
                f"carina_table_changed('{table}')",
            )
            for table in _WATCHED
            for event in ("INSERT", "UPDATE", "DELETE")
        ]
        told += [(event, f"carina_message_changed({message})") for event, message in _CONVERSATION.items()]
        made = [f"TRIGGER told_{n} AFTER {event} BEGIN SELECT {call}; END;" for n, (event, call) in enumerate(told)]
        raw.executescript("CREATE TEMP ".join(["", *made]))  # at once: single statements would stay in memory

    def _note_table(self, table: str) -> None:
        self._changes[table] += 1

    def _note_message(self, place: str, message: int | None) -> None:
        known = _conversations.get((self._epoch, place))
        if known is not None and message is not None and message <= known[1]:
            self._put(place, (None, 0, ()))

    def _put(self, place: str, found: tuple[Hashable, int, Sequence[Any]]) -> None:
        with _lock:  # each file has a thread of its own
            _conversations.put((self._epoch, place), found)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What is read in a transaction that is rolled back is forgotten."""
        self._current = False
        try:
            yield
        except BaseException:
            self._forget()
            raise

    def _forget(self) -> None:
        self._found.clear()
        self._epoch = object()

    def get(self, raw: Connection, tables: Sequence[str], key: Hashable, read: Callable[[], T]) -> T:
        if not self._changes:
            return read()
        if not self._current:
            self._look(raw)
        changes = [*map(self._changes.__getitem__, tables)]
        if (found := self._found.get(key)) is not None and found[0] == changes:
            result: T = found[1]
            return result
        result = read()
        self._found.put(key, (changes, result))
        return result

    def newest(
        self, raw: Connection, place: str, key: Hashable, most: int, read: Callable[[int], Sequence[M]]
    ) -> Sequence[M]:
        if not self._changes:
            return read(0)
        if not self._current:
            self._look(raw)
        which, last, known = _conversations.get((self._epoch, place)) or (None, 0, ())
        if which != key:
            last, known = 0, ()
        found = [*known, *(new := read(last))]
        found = found[max(len(found) - most, 0) :]
        self._put(place, (key, new[-1].id if new else last, found))
        return found

    def _look(self, raw: Connection) -> None:
        """See once in a transaction whether another connection has changed anything."""
        (version,) = raw.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self._forget()
        self._version, self._current = version, True
