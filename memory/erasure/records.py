"""Records of the erasures of people: rows of global.db with the person's id, which survive the erasure."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from memory.store.database import Rows, Tx, Value
from memory.store.erasure_ledger import Entry
from memory.store.ids import ErasureId, PersonId, snowflakes
from memory.store.row_mapper import RowMapper


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
