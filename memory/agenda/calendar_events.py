"""Calendar events. The scheduler computes their next occurrence.

The events in `memory.queue.inbox` are different: something happens in the service, and an agent acts on it.
"""

from datetime import UTC, datetime

from msgspec import Struct, field

from memory import jobs
from memory.people.audience import Audience, Scope, Trust
from memory.queue import outbox
from memory.store.database import Rows, Tx
from memory.store.errors import Refused
from memory.store.ids import AgentId, EventId, PersonId, PlaceId, snowflakes
from memory.store.row_mapper import RowMapper

LONGEST = 300
ANNOUNCED = "event"  # the key prefix of outbox rows
_MOST = 1_000
_ONCE = """trigger_json GLOB '{"at"*'"""


class Event(Struct, frozen=True):
    """An event; a new one gets its id when it is made. `trigger` is in the scheduler's form."""

    title: str
    person: PersonId | None
    place: PlaceId
    audience: Audience
    trust: Trust
    trigger: str = ""
    zone: str = ""
    starts_at: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    ends_at: datetime | None = None
    reminder_minutes: int | None = None
    agent: AgentId | None = None
    id: EventId = field(default_factory=lambda: EventId(snowflakes.next()))
    cancelled: bool = False


def job_id(identifier: EventId) -> str:
    return f"event:{identifier}"


def add(tx: Tx, new: Event, now: datetime) -> Event:
    """Store an event; the caller creates its job. Raises Refused."""
    title = " ".join(new.title.split())
    if not title or len(title) > LONGEST:
        raise Refused("an event's title must have 1 to {longest} characters", longest=LONGEST)
    if new.ends_at is not None and new.ends_at <= new.starts_at:
        raise Refused("an event cannot end before it begins")
    sql = f"""SELECT count(*) FROM events WHERE person_id IS ? AND status = 'planned'
              AND (starts_at > ? OR NOT {_ONCE})"""
    if tx.number(sql, (new.person, now)) >= _MOST:
        raise Refused("there are already {most:,} events: cancel some of them first", most=_MOST)
    tx.insert("events", {**_event.values(new), "title": title, "created_at": now, "updated_at": now})
    return _event.one(tx, _BY_ID, (new.id,))


def by_id(rows: Rows, identifier: EventId) -> Event | None:
    return _event.first(rows, _BY_ID, (identifier,))


def listing(rows: Rows, scope: Scope, people: tuple[PersonId, ...] = ()) -> list[Event]:
    """Planned events that may be mentioned here, of `people` if any are given: those that repeat, then the others, the
    last one first, with those that are over."""
    whose = f" AND person_id IN ({', '.join('?' * len(people))})" if people else ""
    sql = f"""SELECT * FROM events WHERE KNOWN(audience){whose} AND status = 'planned'
              ORDER BY {_ONCE}, starts_at DESC, id DESC LIMIT {_MOST}"""
    return _event.all(rows, *scope.bind(sql, *people))


def cancel(tx: Tx, event: Event, now: datetime) -> None:
    """Cancel an event with all its repetitions; announcements that are not sent yet are withdrawn."""
    jobs.drop(tx, job_id(event.id))
    for row in outbox.of_prefix(tx, f"{ANNOUNCED}/{event.id}/"):
        outbox.withdraw(tx, row.id)
    tx.run("UPDATE events SET status = 'cancelled', updated_at = ? WHERE id = ?", (now, event.id))


_BY_ID = "SELECT * FROM events WHERE id = ?"
_event = RowMapper(Event, trigger="trigger_json", cancelled=lambda row: row["status"] == "cancelled")
