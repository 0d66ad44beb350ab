"""What turns that nobody watched did to archival entries, kept for a while so that it can be taken back as one.

Only turns of sleeptime groups are written down. A row holds the entry as it was before, whose words it was made of and
from which messages; it goes when those are taken back, when the entry is forgotten, and with the time.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias

from memory import unattended_turns
from memory.people.audience import Audience, Scope
from memory.store.database import Row, Rows, Tx, as_dict
from memory.store.ids import EntryId, TurnId, snowflakes
from memory.store.row_mapper import RowMapper

Deed: TypeAlias = Literal["insert", "change", "delete"]
_LEFT_OUT = ("n", "search_text")
_CONTENT = (
    "label", "content", "category", "tags", "metadata", "importance", "reinforcement", "audience", "archived_at",
    "superseded_by",
)  # fmt: skip


class By(NamedTuple):
    """The turn that does something, and when."""

    turn: TurnId
    now: datetime


@dataclass(frozen=True)
class Noted:
    """One deed: `before` is the row as it was, None where there was none; `after` stands for what the turn left."""

    id: int
    turn: TurnId
    entry: EntryId
    deed: Deed
    before: dict[str, Any] | None
    after: str
    audience: Audience


def image(rows: Rows, turn: TurnId | None, entry: EntryId) -> dict[str, Any] | None:
    """An entry as it is before a turn changes it; None where nothing has to be written down."""
    if turn is None or not unattended_turns.is_of_night(rows, turn):
        return None
    row = rows.one("SELECT * FROM archival_entries WHERE id = ?", (entry,))
    return {} if row is None else _image(row)


def note(tx: Tx, turn: TurnId | None, entry: EntryId, before: dict[str, Any] | None, now: datetime) -> None:
    """Write down what a turn did to an entry, given what `image` gave before."""
    if turn is None or before is None:
        return
    row = tx.one("SELECT * FROM archival_entries WHERE id = ?", (entry,))
    if row is None and not before:
        return
    known = before or (_image(row) if row is not None else {})
    deed: Deed = "delete" if row is None else "change" if before else "insert"
    metadata = json.loads(known["metadata"])
    people = [known["person_id"], *metadata.get("_people", ())]
    messages = [known["message_id"], *metadata.get("_messages", ())]
    tx.insert(
        "archival_journal",
        {
            "id": snowflakes.next(),
            "turn_id": turn,
            "entry_id": entry,
            "deed": deed,
            "before": json.dumps(before, ensure_ascii=False) if before else "",
            "after": "" if row is None else _digest(_image(row)),
            "people": json.dumps([each for each in people if each is not None]),
            "messages": json.dumps([each for each in messages if each is not None]),
            "audience": known["audience"],
            "at": now,
        },
    )


def of_turns(rows: Rows, turns: Iterable[TurnId], scope: Scope) -> list[Noted]:
    """What these turns did to entries that the scope may know, in order; without what was taken back."""
    condition, parameters = scope.sql("audience")
    sql = f"""SELECT * FROM archival_journal WHERE turn_id IN (SELECT value FROM json_each(?)) AND undone_at IS NULL
              AND {condition} ORDER BY id"""
    return _noted.all(rows, sql, (json.dumps(list(turns)), *parameters))


def as_left(rows: Rows, noted: Noted) -> bool:
    """Whether an entry is as that deed left it."""
    row = rows.one("SELECT * FROM archival_entries WHERE id = ?", (noted.entry,))
    return ("" if row is None else _digest(_image(row))) == noted.after


def mark_undone(tx: Tx, noted: Iterable[Noted], now: datetime) -> None:
    """These were taken back: nothing of them is kept but that they were."""
    named = json.dumps([each.id for each in noted])
    sql = """UPDATE archival_journal SET undone_at = ?, before = '' WHERE id IN (SELECT value FROM json_each(?))"""
    tx.run(sql, (now, named))


def forget(tx: Tx, entries: Iterable[EntryId]) -> int:
    named = json.dumps(list(entries))
    return tx.run("DELETE FROM archival_journal WHERE entry_id IN (SELECT value FROM json_each(?))", (named,))


def drop_before(tx: Tx, moment: datetime) -> int:
    """Forget what was done before then; how many."""
    return tx.run("DELETE FROM archival_journal WHERE at < ?", (moment,))


def _image(row: Row) -> dict[str, Any]:
    return {name: value for name, value in as_dict(row).items() if name not in _LEFT_OUT}


def _digest(found: dict[str, Any]) -> str:
    words = json.dumps([found[name] for name in _CONTENT], ensure_ascii=False)
    return hashlib.blake2b(words.encode(), digest_size=16).hexdigest()


_noted = RowMapper(Noted, before=lambda row: json.loads(row["before"]) if row["before"] else None)
