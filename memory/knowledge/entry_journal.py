"""Changes of archival entries by turns of sleeptime groups, kept for a while so that they can be undone together.

A row holds the entry before the change, with the people and messages
behind it; it is deleted when those messages are taken back, when the entry is forgotten, and after some time.
"""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import Struct

from memory import sleeptime_turns
from memory.knowledge.entries import digest_of, to_entry
from memory.people.audience import Audience, Scope
from memory.store.database import Row, Rows, Tx, as_dict
from memory.store.ids import EntryId, TurnId, snowflakes
from memory.store.row_mapper import RowMapper

EntryAction: TypeAlias = Literal["insert", "change", "delete"]
_LEFT_OUT = ("n", "search_text")


class ChangedBy(NamedTuple):
    """The turn that makes a change, and when."""

    turn: TurnId
    now: datetime


class JournalEntry(Struct, frozen=True):
    """One change: `before` is the row before it, None if there was none; `after` is a digest of the result."""

    id: int
    turn: TurnId
    entry: EntryId
    action: EntryAction
    before: dict[str, Any] | None
    after: str
    audience: Audience


def image(rows: Rows, turn: TurnId | None, entry: EntryId) -> dict[str, Any] | None:
    """An entry before a turn changes it; None if the turn is not recorded."""
    if turn is None or not sleeptime_turns.is_sleeptime_turn(rows, turn):
        return None
    row = rows.one("SELECT * FROM archival_entries WHERE id = ?", (entry,))
    return {} if row is None else _image(row)


def note(tx: Tx, turn: TurnId | None, entry: EntryId, before: dict[str, Any] | None, now: datetime) -> None:
    """Record a turn's change of an entry; `before` is the result of `image`."""
    if turn is None or before is None:
        return
    row = tx.one("SELECT * FROM archival_entries WHERE id = ?", (entry,))
    if row is None and not before:
        return
    known = before or (_image(row) if row is not None else {})
    action: EntryAction = "delete" if row is None else "change" if before else "insert"
    metadata = json.loads(known["metadata"])
    people = [known["person_id"], *metadata.get("_people", ())]
    messages = [known["message_id"], *metadata.get("_messages", ())]
    tx.insert(
        "archival_journal",
        {
            "id": snowflakes.next(),
            "turn_id": turn,
            "entry_id": entry,
            "deed": action,
            "before": json.dumps(before, ensure_ascii=False) if before else "",
            "after": _digest(row),
            "people": [each for each in people if each is not None],
            "messages": [each for each in messages if each is not None],
            "audience": known["audience"],
            "at": now,
        },
    )


def of_turns(rows: Rows, turns: Iterable[TurnId], scope: Scope) -> list[JournalEntry]:
    """The changes by these turns of entries that the scope may know, in order; without undone ones."""
    sql = """SELECT * FROM archival_journal WHERE turn_id IN (SELECT value FROM json_each(?)) AND undone_at IS NULL
              AND KNOWN(audience) ORDER BY id"""
    return _noted.all(rows, *scope.bind(sql, list(turns)))


def as_left(rows: Rows, noted: JournalEntry) -> bool:
    """Whether an entry is unchanged since that change."""
    return _digest(rows.one("SELECT * FROM archival_entries WHERE id = ?", (noted.entry,))) == noted.after


def mark_undone(tx: Tx, noted: Iterable[JournalEntry], now: datetime) -> None:
    """Mark changes as undone: only that they happened is kept."""
    sql = "UPDATE archival_journal SET undone_at = ?, before = '' WHERE id IN (SELECT value FROM json_each(?))"
    tx.run(sql, (now, [each.id for each in noted]))


def forget(tx: Tx, entries: Iterable[EntryId]) -> int:
    sql = "DELETE FROM archival_journal WHERE entry_id IN (SELECT value FROM json_each(?))"
    return tx.run(sql, (list(entries),))


def drop_before(tx: Tx, moment: datetime) -> int:
    """Delete changes from before then; returns how many."""
    return tx.run("DELETE FROM archival_journal WHERE at < ?", (moment,))


def _image(row: Row) -> dict[str, Any]:
    return {name: value for name, value in as_dict(row).items() if name not in _LEFT_OUT}


def _digest(row: Row | None) -> str:
    return "" if row is None else digest_of(to_entry(row), row["archived_at"], row["superseded_by"])


_noted = RowMapper(JournalEntry, action="deed", before=lambda row: json.loads(row["before"]) if row["before"] else None)
