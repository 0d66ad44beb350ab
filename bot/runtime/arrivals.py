"""Converts a source's notifications to arrivals for the inbox."""

import dataclasses
from collections.abc import Callable

from memory.people.audience import Trust
from memory.queue import outbox
from memory.queue.inbox import Arrival
from memory.queue.message_files import MessageFile
from memory.queue.payloads import Attachment, Extras
from memory.store.database import Rows
from memory.store.ids import GroupId
from memory.store.records import replace
from sources.base import Kind, Notification
from sources.text import one_line

_EXCERPT = 80  # characters of our message that a reaction quotes


def to_arrival(notification: Notification, group: GroupId) -> Arrival:
    """A notification as the inbox stores it: its text is stored once, apart from the rest, for edits."""
    place, speaker = notification.place, notification.speaker
    if place.kind == "direct":
        place = replace(place, bindings=())  # they identify the person
    answerable = notification.answer and notification.kind in (Kind.MESSAGE, Kind.REACTION)
    return Arrival(
        source=notification.source,
        external_id=notification.external_id,
        kind=notification.kind,
        place=place,
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
        asks=group if notification.kind == Kind.EDIT else None,
        unshown=speaker.unshown if speaker else None,
        files=tuple(
            MessageFile(each.name, each.content_type, each.size, each.skipped, each.content or each.text.encode())
            for each in notification.attachments
            if each.kept
        ),
    )


def _payload(notification: Notification) -> Extras:
    attachments = notification.attachments
    return Extras(
        blocks=notification.blocks,
        background=notification.background,
        quoted=notification.quoted,
        attachments=tuple(Attachment(a.name, a.content_type, a.size, a.text, a.skipped) for a in attachments),
        images=tuple(a.url for a in attachments if a.content_type.startswith("image/") and a.url),
        mentioned=notification.mentioned,
        temperature=notification.temperature,
        max_tokens=notification.max_tokens,
    )


def with_reaction(rows: Rows, arrival: Arrival) -> Arrival:
    """A reaction with a quote of our message that it belongs to; anything else unchanged."""
    if arrival.kind != Kind.REACTION:
        return arrival
    row = outbox.said_by_us(rows, arrival.source, arrival.subject)
    about = f': "{one_line(row.content, _EXCERPT)}"' if row is not None and row.place == arrival.place.id else ""
    return replace(arrival, text=f"(reacted with {arrival.text} to a message of yours{about})")


def without_secrets(notification: Notification, redact: Callable[[str], str]) -> Notification:
    """The notification without values of loaded secrets in its text: they are stored and shown nowhere."""
    said, quoted = notification.speaker, notification.quoted
    return replace(
        notification,
        text=redact(notification.text),
        speaker=None if said is None else replace(said, name=redact(said.name)),
        quoted=None if quoted is None else dataclasses.replace(quoted, text=redact(quoted.text)),
        attachments=tuple(
            dataclasses.replace(each, name=redact(each.name), text=redact(each.text))
            for each in notification.attachments
        ),
        background=tuple(map(redact, notification.background)),
        blocks=tuple(dataclasses.replace(each, profile=redact(each.profile)) for each in notification.blocks),
    )
