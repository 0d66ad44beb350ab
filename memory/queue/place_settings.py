"""What was decided by command about places and sources: how a place is heard, who answers there, what is paused."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from memory.store.clock import from_text
from memory.store.database import Rows, Tx, Value
from memory.store.ids import PersonId

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
    found = rows.all("SELECT * FROM steering ORDER BY decided_at DESC, kind, subject")
    return [
        Setting(row["kind"], row["subject"], row["value"], PersonId(row["decided_by"]), from_text(row["decided_at"]))
        for row in found
    ]


def put(tx: Tx, setting: Setting) -> None:
    """Let a decision hold from now on."""
    drop(tx, setting.kind, setting.subject)
    values: dict[str, Value] = {"kind": setting.kind, "subject": setting.subject, "value": setting.value}
    tx.insert("steering", {**values, "decided_by": setting.by, "decided_at": setting.at})


def drop(tx: Tx, kind: Kind, subject: str) -> bool:
    """Take a decision back; False when there was none."""
    return tx.run("DELETE FROM steering WHERE kind = ? AND subject = ?", (kind, subject)) == 1
