"""Stores what sources receive in the inbox, after the guards in front: each of them protects somebody, so none has a
default."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from bot.agents.notices import Notices
from bot.agents.permissions.policy import People
from bot.runtime.halt import HaltState
from memory.people.audience import OWNER, Audience, person_audience
from memory.store.database import Database
from memory.store.faults import commit_point
from memory.store.ids import ConstellationId, PersonId
from memory.store.records import replace
from sources.base import Notification, Place
from texts import _

_LOST = commit_point("inbox.lost")


class AudienceResolver:
    """What the hearers of a place may know, including what their linked accounts were told alone."""

    def __init__(self, people: People) -> None:
        self._people = people

    def with_audiences(self, place: Place) -> Place:
        """The place with the audiences of its hearer's linked accounts."""
        own = self.audiences(place.audience)
        return replace(place, within=(*place.within, *own)) if own else place

    def other_audiences(self, person: PersonId) -> tuple[Audience, ...]:
        """The audiences of a person's other accounts."""
        others = [each for each in self._people.selves(person) if each != person]
        return tuple(person_audience(each) for each in others if each not in self._people.owner)

    def audiences(self, audience: Audience) -> tuple[Audience, ...]:
        """The same for the hearer of something with that audience."""
        if audience == OWNER:
            return self.other_audiences(self._people.owner[0]) if self._people.owner else ()
        kind, _, person = audience.partition(":")
        return self.other_audiences(PersonId(person)) if kind == "person" else ()


class Gate(Struct, frozen=True):
    """The guards of the intake.

    `with_audiences` adds to a place the audiences of its reader's linked accounts; `ignored`: nothing that a person
    says, or said at that time, is stored or answered (edits and deletions are still applied); `paused`: nothing of that
    source is.
    """

    halt: HaltState
    with_audiences: Callable[[Place], Place]
    ignored: Callable[[PersonId | None, datetime], bool]
    paused: Callable[[str], bool]


Intake: TypeAlias = asyncio.Queue[tuple[Notification, ConstellationId | None]]
"""Received notifications that are not stored yet, in order; with the constellation if it is given."""


async def tell_lost(database: Database, notices: Notices, notification: Notification, now: datetime) -> None:
    words = _(
        "Something that arrived from {source} (ID there: {external_id}) could not be stored in two attempts, so I "
        "cannot answer it. The log has the details; please report it.",
        source=notification.source,
        external_id=notification.external_id,
    )
    key = f"lost/{notification.source}/{notification.external_id}"
    await database.write(_LOST, lambda tx: notices.tell_owner(tx, key, words, now))
