"""What happens in the service itself and an agent is to act on: a decision, later a job that is due.

An event is an inbox row like any other, with a message of the role "system" that tells it, so it is handled once and
in order whatever stops the service.
"""

from dataclasses import dataclass
from datetime import datetime

from memory.people.audience import Scope, Trust
from memory.queue import messages, payloads
from memory.queue.inbox import Status
from memory.store.database import Tx, Value
from memory.store.ids import AgentId, GroupId, InboxId, PersonId, PlaceId, snowflakes


@dataclass(frozen=True)
class Event:
    """Something that happened in the service itself and that an agent is to act on in a place: a decision, say.

    `source` and `external_id` make it unique. `hearers` and `trust` are those of what it belongs to.
    """

    source: str
    external_id: str
    place: PlaceId
    person: PersonId | None
    group: GroupId
    text: str
    hearers: Scope
    trust: Trust
    payload: payloads.Event
    by: tuple[AgentId, str] | None = None
    """The agent whose words these are, with its name; None where the service tells something."""


def add(tx: Tx, event: Event, now: datetime) -> InboxId | None:
    """Queue an event behind what waits in its place, for a turn of its own; None when it was queued before."""
    identifier = InboxId(snowflakes.next())
    values: dict[str, Value] = {
        "id": identifier,
        "source": event.source,
        "external_id": event.external_id,
        "kind": "event",
        "place_id": event.place,
        "person_id": event.person,
        "group_id": event.group,
        "payload": payloads.PAYLOAD.dump(event.payload),
        "audience": event.hearers.audience,
        "status": Status.RECEIVED,
        "alone": 1,
        "about_id": payloads.about(event.payload),
        "received_at": now,
    }
    if not tx.insert("inbox", values, ignore=True):
        return None
    told = messages.Heard(
        place=event.place,
        person=None,
        speaker="" if event.by is None else event.by[1],
        text=event.text,
        source=event.source,
        external_id=event.external_id,
        audience=event.hearers.audience,
        trust=event.trust,
        at=now,
        role="system",
        agent=None if event.by is None else event.by[0],
    )
    tx.run("UPDATE inbox SET message_id = ? WHERE id = ?", (messages.add_heard(tx, told), identifier))
    return identifier
