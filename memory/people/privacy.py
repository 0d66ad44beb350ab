"""People's privacy choices, their identities and their erasures: rows of global.db.

A choice and the record of an erasure hold only the person's id. They survive an erasure, since otherwise erasing would
end an opt-out.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct

from memory.store.database import Rows, Tx, Value
from memory.store.erasure_ledger import Entry
from memory.store.ids import ErasureId, PersonId, snowflakes
from memory.store.row_mapper import RowMapper


class PrivacyChoice(StrEnum):
    """Why nothing that a person says is stored or answered. Both last until the person ends them."""

    PAUSED = "paused"
    OPTED_OUT = "opted_out"


class Erasure(Struct, frozen=True):
    """One erasure; `receipt` is empty until it is done."""

    id: ErasureId
    person: PersonId
    asked_by: PersonId
    begun_at: str
    done_at: str
    receipt: Mapping[str, Any]

    @property
    def done(self) -> bool:
        return bool(self.done_at)

    @property
    def entry(self) -> Entry:
        return Entry(self.id, self.person, self.asked_by, self.begun_at)


def choices(rows: Rows) -> dict[PersonId, tuple[PrivacyChoice, str]]:
    """Everybody's current choice, with its start."""
    found = rows.all("SELECT person_id, choice, since FROM privacy_choices")
    return {PersonId(row["person_id"]): (PrivacyChoice(row["choice"]), row["since"]) for row in found}


def ended(rows: Rows) -> dict[PersonId, list[tuple[str, str]]]:
    """The start and end of everybody's earlier choices."""
    found: dict[PersonId, list[tuple[str, str]]] = {}
    for row in rows.all("SELECT person_id, since, until FROM ended_privacy_choices"):
        found.setdefault(PersonId(row["person_id"]), []).append((row["since"], row["until"]))
    return found


def choose(tx: Tx, person: PersonId, choice: PrivacyChoice | None, now: datetime) -> None:
    """Store a choice; None ends the current one. The commit of this must be durable."""
    ended = "SELECT person_id, since, ? FROM privacy_choices WHERE person_id = ?"
    tx.run(f"INSERT OR REPLACE INTO ended_privacy_choices {ended}", (now, person))
    tx.run("DELETE FROM privacy_choices WHERE person_id = ?", (person,))
    if choice is not None:
        tx.insert("privacy_choices", {"person_id": person, "choice": choice, "since": now})


def begin_erasure(tx: Tx, person: PersonId, asked_by: PersonId, now: datetime) -> Erasure:
    """Record that an erasure of a person begins, or return the one in progress. Must be durable."""
    values: dict[str, Value] = {"id": snowflakes.next(), "person_id": person, "asked_by": asked_by}
    tx.insert("erasures", {**values, "status": "begun", "begun_at": now}, ignore=True)
    return _erasure.one(tx, "SELECT * FROM erasures WHERE person_id = ? AND status = 'begun'", (person,))


def open_erasures(rows: Rows) -> list[Erasure]:
    """Unfinished erasures, oldest first."""
    return _erasure.all(rows, "SELECT * FROM erasures WHERE status = 'begun' ORDER BY id")


def finish_erasure(tx: Tx, identifier: ErasureId, receipt: Mapping[str, Any], now: datetime) -> None:
    """Store the result of an erasure: numbers and file names, never words."""
    sql = "UPDATE erasures SET status = 'done', done_at = ?, receipt = ? WHERE id = ?"
    tx.run(sql, (now, json.dumps(dict(receipt), ensure_ascii=False), identifier))


def erasures_of(rows: Rows, person: PersonId) -> list[Erasure]:
    return _erasure.all(rows, "SELECT * FROM erasures WHERE person_id = ? ORDER BY id DESC", (person,))


_erasure = RowMapper(Erasure, asked_by="asked_by")
