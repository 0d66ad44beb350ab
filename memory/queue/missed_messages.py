"""Gaps: messages of a place that were missed while no listener ran. `skipped_messages.py`: what was not accepted.

A place's cursor says how far it was read and moves with every live message. So a listener that cannot read back the
missed messages records a gap first. A gap is open until it has been read, or until it is closed with a reason because
it can never be.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from memory.people.audience import OWNER, person_audience
from memory.store.clock import from_text
from memory.store.database import Rows, Tx, Value
from memory.store.ids import PersonId, PlaceId
from memory.store.row_mapper import RowMapper
from texts import _, gettext_noop, ngettext

FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=15), timedelta(hours=1)
"""The pause before the first attempt, and the longest pause between two."""
KEPT = timedelta(days=30)
"""How long a closed gap is kept."""
SHOWN = 5
"""How many gaps a report to the operator lists; the rest are only counted."""


class Span(Struct, frozen=True):
    """The messages of a place between two message ids, both excluded."""

    place: PlaceId
    after: str
    before: str


class Gap(Struct, frozen=True):
    """A span that was not read, and why; `next_try_at` is None when it is closed."""

    span: Span
    reason: str
    tries: int
    noticed_at: datetime
    next_try_at: datetime | None


def note(tx: Tx, spans: Iterable[Span], reason: str, now: datetime, next_try: datetime) -> None:
    """Record spans that are still to be read; a known one is tried at `next_try` at the latest."""
    sql = """INSERT INTO gaps (place_id, after, before, reason, tries, noticed_at, next_try_at)
        VALUES (:place_id, :after, :before, :reason, 0, :now, :next)
        ON CONFLICT (place_id, after) DO UPDATE SET closed_at = NULL, reason = excluded.reason,
          before = CASE WHEN length(excluded.before) > length(before) THEN excluded.before
            WHEN length(excluded.before) = length(before) THEN max(before, excluded.before) ELSE before END,
          next_try_at = min(coalesce(next_try_at, excluded.next_try_at), excluded.next_try_at)"""
    for span in spans:
        tx.run(sql, {**_span.values(span), "reason": reason, "now": now, "next": next_try})
    tx.run("DELETE FROM gaps WHERE closed_at < ?", (now - KEPT,))


def failed(tx: Tx, span: Span, reason: str, now: datetime) -> None:
    """An attempt failed; the next one comes after twice the pause."""
    found = _get(tx, span)
    if found is None or found.next_try_at is None:
        return
    wait = min(FIRST_WAIT * 2 ** min(found.tries, 16), LONGEST_WAIT)
    sql = "UPDATE gaps SET reason = ?, tries = tries + 1, next_try_at = ? WHERE place_id = ? AND after = ?"
    tx.run(sql, (reason, now + wait, span.place, span.after))


def fill(tx: Tx, span: Span) -> None:
    """The span was read: remove its gap, unless the gap has grown meanwhile or part of it was closed."""
    sql = "DELETE FROM gaps WHERE place_id = ? AND after = ? AND before = ? AND next_try_at IS NOT NULL"
    tx.run(sql, (span.place, span.after, span.before))


def close(tx: Tx, span: Span, reason: str, now: datetime) -> bool:
    """Close a span that can never be read completely; False if it was closed already.

    A gap that has grown beyond the tried span stays as it is.
    """
    found = _get(tx, span)
    if found is not None and _reach(found.span) > _reach(span):
        return False
    if found is not None and found.next_try_at is None and found.reason == reason:
        return False
    sql = """INSERT INTO gaps (place_id, after, before, reason, tries, noticed_at, closed_at)
        VALUES (:place_id, :after, :before, :reason, 1, :now, :now)
        ON CONFLICT (place_id, after) DO UPDATE SET reason = excluded.reason, next_try_at = NULL,
          closed_at = excluded.closed_at"""
    tx.run(sql, {**_span.values(span), "reason": reason, "now": now})
    return True


def due(rows: Rows, source: str, now: datetime, limit: int) -> list[Gap]:
    """The open gaps of a source that are due, oldest first."""
    sql = f"{_OF_SOURCE} AND next_try_at <= :now ORDER BY noticed_at, place_id LIMIT +:limit"
    return _gap.all(rows, sql, {"prefix": f"{source}:", "now": now, "limit": limit})


def next_try(rows: Rows, source: str) -> datetime | None:
    """When the next open gap is due; None if there is none."""
    return rows.value(f"SELECT min(next_try_at) FROM ({_OF_SOURCE})", {"prefix": f"{source}:"}, from_text)


def listing(rows: Rows) -> list[Gap]:
    """Open gaps and recently closed ones, oldest first."""
    return _gap.all(rows, "SELECT * FROM gaps ORDER BY noticed_at, place_id")


def never_wrote(rows: Rows, persons: Iterable[PersonId]) -> list[PersonId]:
    """The persons whose direct messages were never heard, so that no cursor says how far they were read.

    A direct place with the owner's audience counts only if this person wrote there.
    """
    sql = """SELECT 1 FROM places WHERE kind = 'direct' AND cursor IS NOT NULL AND audience IN (:alone, :owner)
             AND (audience <> :owner OR EXISTS (SELECT 1 FROM messages m WHERE m.place_id = places.id
               AND m.person_id = :person)) LIMIT 1"""
    found = []
    for person in dict.fromkeys(persons):
        values: dict[str, Value] = {"alone": person_audience(person), "owner": OWNER, "person": person}
        if rows.one(sql, values) is None:
            found.append(person)
    return found


def words(found: Sequence[Gap]) -> tuple[str, ...]:
    """Lines about gaps for the operator; places by their ids, since their names may be private."""
    again = gettext_noop("{place}: reading missed messages has failed since {at}: {reason}; next attempt {next}")
    never = gettext_noop("{place}: messages missed before {at} will not be read: {reason}")
    lines = [
        _(again if due else never, place=gap.span.place, at=gap.noticed_at, reason=gap.reason, next=due)
        for gap in found
        if (due := gap.next_try_at) is None or gap.tries > 0
    ]
    more = len(lines) - SHOWN
    rest = [ngettext("and {count} more place", "and {count} more places", more)] if more > 0 else []
    return (*lines[:SHOWN], *rest)


_OF_SOURCE = "SELECT * FROM gaps WHERE substr(place_id, 1, length(:prefix)) = :prefix"


def _reach(span: Span) -> tuple[int, str]:
    """A sortable key of a span's end: message ids are numbers stored as text."""
    return len(span.before), span.before


def _get(rows: Rows, span: Span) -> Gap | None:
    return _gap.first(rows, "SELECT * FROM gaps WHERE place_id = ? AND after = ?", (span.place, span.after))


_span = RowMapper(Span)
_gap = RowMapper(Gap, span=_span)
