"""From a notification of a source to an arrival of the inbox."""

from dataclasses import replace
from typing import Any

from memory import outbox
from memory.audience import Trust
from memory.database import Rows
from memory.ids import GroupId
from memory.inbox import Arrival, Heard
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
    )


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
