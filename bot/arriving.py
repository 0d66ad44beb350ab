"""From a notification of a source to an arrival of the inbox."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias

from memory import events, messages, outbox
from memory.audience import Scope, Trust
from memory.database import Rows, Tx
from memory.ids import GroupId
from memory.inbox import Accepted, Arrival, Heard
from sources.base import Kind, Notification
from sources.text import one_line

_EXCERPT = 80  # characters of our message that a reaction is told with


def to_arrival(notification: Notification, group: GroupId) -> Arrival:
    """A notification as the inbox stores it: its text apart from the rest, so that an edit finds one copy."""
    place, speaker = notification.place, notification.speaker
    answerable = notification.answer and notification.kind in (Kind.MESSAGE, Kind.REACTION)
    return Arrival(
        source=notification.source,
        external_id=notification.external_id,
        kind=notification.kind,
        place=Heard(place.id, place.kind, place.name, place.audience, place.within),
        person=speaker.id if speaker else None,
        speaker=speaker.name if speaker else "",
        trust=speaker.trust if speaker else Trust.STRANGER,
        subject=notification.subject,
        text=notification.text,
        at=notification.at,
        payload=_payload(notification),
        group=group if answerable else None,
        position=notification.position,
        alone=notification.alone,
    )


ByState: TypeAlias = Callable[[Rows, Arrival], GroupId | None]
"""Which group is there for how the person of a message is now; None when the usual one answers."""


def no_states(_rows: Rows, _arrival: Arrival) -> GroupId | None:
    """No group is there for anybody's state."""
    return None


def settled(rows: Rows, arrival: Arrival, notification: Notification, by_state: ByState) -> Arrival:
    """An arrival with the group that answers it for how its person is; as it is where somebody is named to answer."""
    if arrival.group is None or arrival.person is None or arrival.kind != Kind.MESSAGE or notification.to:
        return arrival
    group = by_state(rows, arrival)
    return arrival if group is None else replace(arrival, group=group)


def _payload(notification: Notification) -> dict[str, Any]:
    payload: dict[str, Any] = {}
    if notification.blocks:
        payload["blocks"] = [
            {"label": spec.label, "description": spec.description, "profile": spec.profile, "about": spec.about}
            for spec in notification.blocks
        ]
    if notification.background:
        payload["background"] = list(notification.background)
    if (quoted := notification.quoted) is not None:
        payload["quoted"] = {"speaker": quoted.speaker, "text": quoted.text, "by_us": quoted.by_us}
    if notification.attachments:
        payload["attachments"] = [
            {"name": a.name, "content_type": a.content_type, "size": a.size, "text": a.text, "skipped": a.skipped}
            for a in notification.attachments
        ]
        payload["images"] = [a.url for a in notification.attachments if a.content_type.startswith("image/") and a.url]
    if notification.mentioned:
        payload["mentioned"] = dict(notification.mentioned)
    return payload


def with_reaction(rows: Rows, arrival: Arrival) -> Arrival:
    """A reaction as the transcript has it: to which of our messages it was; anything else as it is."""
    if arrival.kind != Kind.REACTION:
        return arrival
    row = outbox.said_by_us(rows, arrival.source, arrival.subject)
    about = f': "{one_line(row.content, _EXCERPT)}"' if row is not None and row.place == arrival.place.id else ""
    return replace(arrival, text=f"(reacted with {arrival.text} to a message of yours{about})")


def ask_again(tx: Tx, arrival: Arrival, accepted: Accepted | None, group: GroupId, now: datetime) -> bool:
    """Let an agent store anew what an edit took away; whether there was anything. A running turn sees the edit itself.

    The words are read from the message when the agent is asked, so that a later edit or deletion is followed too.
    """
    if accepted is None or accepted.forgot is None or accepted.turn is not None:
        return False
    place = arrival.place
    edited = messages.by_external(tx, arrival.source, arrival.subject)
    if edited is None:
        return False
    event = events.Event(
        source="edit",
        external_id=f"{arrival.source}/{arrival.external_id}",
        place=edited.place,
        person=edited.person,
        group=group,
        text=f"{edited.speaker} edited a message. What you had stored from its old words was removed.",
        hearers=Scope(edited.audience, frozenset(place.within) if place.audience == edited.audience else frozenset()),
        trust=edited.trust,
        payload={"edited": edited.id, "about": edited.id, "status": "edited", "reply_to": edited.external_id},
    )
    return events.add(tx, event, now) is not None


def without_secrets(notification: Notification, redact: Callable[[str], str]) -> Notification:
    """What happened, without the values of loaded secrets in any words of it: they are stored and shown nowhere."""
    said, quoted = notification.speaker, notification.quoted
    return replace(
        notification,
        text=redact(notification.text),
        speaker=None if said is None else replace(said, name=redact(said.name)),
        quoted=None if quoted is None else replace(quoted, text=redact(quoted.text)),
        attachments=tuple(
            replace(each, name=redact(each.name), text=redact(each.text)) for each in notification.attachments
        ),
        background=tuple(map(redact, notification.background)),
        blocks=tuple(replace(each, profile=redact(each.profile)) for each in notification.blocks),
    )
