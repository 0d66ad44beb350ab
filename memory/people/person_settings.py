"""A person's time zone, their quiet hours, and where they get reminders. Their language is a setting by command
(`memory.queue.place_settings`).
"""

from datetime import datetime, time

from msgspec import Struct

from memory.store.database import Rows, Tx
from memory.store.errors import Refused
from memory.store.ids import PersonId
from memory.store.row_mapper import RowMapper


class Times(Struct, frozen=True):
    """Empty strings mean not set. Hours look like "22:30"."""

    zone: str = ""
    quiet_from: str = ""
    quiet_until: str = ""
    reminders: str = ""
    """"here" (where they were set) or "privately"."""


def of(rows: Rows, people: tuple[PersonId, ...]) -> Times:
    """The newest settings of a person, from any of their accounts."""
    sql = """SELECT * FROM person_times WHERE person_id IN (SELECT value FROM json_each(?))
             ORDER BY updated_at DESC LIMIT 1"""
    return _times.first(rows, sql, (people,)) or Times()


ZONE = "SELECT zone FROM person_times WHERE person_id = ? ORDER BY updated_at DESC LIMIT 1"


def zone_for(rows: Rows, people: tuple[PersonId, ...], default: str) -> str:
    """The person's time zone; `default` if they set none."""
    return of(rows, people).zone or default


def put(tx: Tx, people: tuple[PersonId, ...], times: Times, now: datetime) -> None:
    """Store settings for all accounts of a person."""
    for person in people:
        tx.run("DELETE FROM person_times WHERE person_id = ?", (person,))
        tx.insert("person_times", {"person_id": person, **_times.values(times), "updated_at": now})


_times = RowMapper(Times)


def changed(before: Times, begin: str | None, end: str | None) -> tuple[str, str]:
    """Quiet hours in stored form; two empty strings, or "off", end them. Raises Refused."""
    if begin is None and end is None:
        return before.quiet_from, before.quiet_until
    if (begin or "").casefold() == "off":
        return "", ""
    begins, ends = _hour(begin or ""), _hour(end or "")
    if bool(begins) != bool(ends):
        raise Refused("Quiet hours need a start and an end, such as 22:30 and 7:00.")
    if begins and begins == ends:
        raise Refused("Quiet hours cannot start and end at the same time. To turn them off, set their start to “off”.")
    return begins, ends


def _hour(text: str) -> str:
    """A time of day in stored form; empty stays empty. Raises Refused."""
    if not text.strip():
        return ""
    try:
        hour, _colon, minute = text.strip().partition(":")
        return f"{time(int(hour), int(minute or 0)):%H:%M}"
    except (ValueError, OverflowError):
        raise Refused("“{text}” is not a time of day. Write it like 22:30.", text=text[:20]) from None
