"""What was decided by command: how a place is heard, who answers there and by which model, what is paused, and in which
language somebody is answered."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from memory.store.database import Rows, Tx
from memory.store.ids import PersonId, PlaceId
from memory.store.row_mapper import RowMapper

Kind: TypeAlias = Literal["mode", "group", "model", "pause", "language"]


@dataclass(frozen=True)
class Setting:
    """One decision. `value` is a mode, the id of a group, a model, a language, or nothing for what is paused."""

    kind: Kind
    subject: str
    value: str
    by: PersonId
    at: datetime


def settings(rows: Rows) -> list[Setting]:
    """Every decision that holds, the newest first."""
    return _setting.all(rows, "SELECT * FROM steering ORDER BY decided_at DESC, kind, subject")


def model_at(rows: Rows, place: PlaceId) -> str:
    """The model that answers in a place, as the narrowest of its names has it; empty where none was chosen."""
    sql = """SELECT s.value FROM steering s
             LEFT JOIN json_each((SELECT bindings FROM places WHERE id = :place)) b ON b.value = s.subject
             WHERE s.kind = 'model' AND (s.subject = :place OR b.key IS NOT NULL)
             ORDER BY s.subject = :place DESC, b.key LIMIT 1"""
    return rows.value(sql, {"place": place}, str) or ""


def put(tx: Tx, setting: Setting) -> None:
    drop(tx, setting.kind, setting.subject)
    tx.insert("steering", _setting.values(setting))


_setting = RowMapper(Setting, by="decided_by", at="decided_at")


def drop(tx: Tx, kind: Kind, subject: str) -> bool:
    """Take a decision back; False when there was none."""
    return tx.run("DELETE FROM steering WHERE kind = ? AND subject = ?", (kind, subject)) == 1
