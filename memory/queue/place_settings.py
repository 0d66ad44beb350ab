"""What was decided by command about places and sources: how a place is heard, who answers there, what is paused."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from memory.store.database import Rows, Tx
from memory.store.ids import PersonId
from memory.store.row_mapper import RowMapper

Kind: TypeAlias = Literal["mode", "group", "pause"]


@dataclass(frozen=True)
class Setting:
    """One decision. `value` is a mode, the id of a group, or nothing for what is paused."""

    kind: Kind
    subject: str
    value: str
    by: PersonId
    at: datetime


def settings(rows: Rows) -> list[Setting]:
    """Every decision that holds, the newest first."""
    return _setting.all(rows, "SELECT * FROM steering ORDER BY decided_at DESC, kind, subject")


def put(tx: Tx, setting: Setting) -> None:
    drop(tx, setting.kind, setting.subject)
    tx.insert("steering", _setting.values(setting))


_setting = RowMapper(Setting, by="decided_by", at="decided_at")


def drop(tx: Tx, kind: Kind, subject: str) -> bool:
    """Take a decision back; False when there was none."""
    return tx.run("DELETE FROM steering WHERE kind = ? AND subject = ?", (kind, subject)) == 1
