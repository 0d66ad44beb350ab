"""By whose clocks somebody lives, and when they are not to be disturbed."""

from dataclasses import dataclass
from datetime import datetime

from memory.store.clock import to_text
from memory.store.database import Rows, Tx
from memory.store.ids import PersonId


@dataclass(frozen=True)
class Times:
    """Empty texts where nothing was said. Hours are like "22:30"."""

    zone: str = ""
    quiet_from: str = ""
    quiet_until: str = ""


def of(rows: Rows, people: tuple[PersonId, ...]) -> Times:
    """What somebody said under any of their accounts, the newest."""
    marks = ", ".join("?" * len(people))
    sql = f"SELECT * FROM person_times WHERE person_id IN ({marks}) ORDER BY updated_at DESC LIMIT 1"
    row = rows.one(sql, people)
    return Times() if row is None else Times(row["zone"], row["quiet_from"], row["quiet_until"])


def zone_for(rows: Rows, people: tuple[PersonId, ...], default: str) -> str:
    """The zone of somebody's clocks; `default` where they named none."""
    return of(rows, people).zone or default


def put(tx: Tx, people: tuple[PersonId, ...], times: Times, now: datetime) -> None:
    """Let it hold for all accounts of somebody."""
    for person in people:
        tx.run("DELETE FROM person_times WHERE person_id = ?", (person,))
        values = {"zone": times.zone, "quiet_from": times.quiet_from, "quiet_until": times.quiet_until}
        tx.insert("person_times", {"person_id": person, **values, "updated_at": to_text(now)})
