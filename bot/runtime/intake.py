"""Decides whether an arriving notification is accepted, and stores it in its constellation's inbox.

Each check protects somebody, so none has a default.
"""

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from bot.agents import turn_learning
from bot.agents.permissions.roles_and_rights import People
from bot.agents.turn_deps import TurnDeps
from bot.runtime.conversation import ConversationWorker
from bot.runtime.group_routing import GroupRouting
from bot.runtime.halt import HaltState
from bot.runtime.supervision import Supervisor
from bot.runtime.turn_retries import RetryPolicy
from bot.storage_retry import until_stored
from memory.people.audience import OWNER, Audience, person_audience
from memory.queue import inbox, outbox
from memory.queue.inbox import AcceptedRow
from memory.queue.notifications import Kind, Notification, Place
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import GroupId, PersonId, PlaceId
from memory.store.logs import Log
from memory.store.records import replace
from sources.text import one_line
from texts import _

_ACCEPT = commit_point("inbox.accept")
_LOST = commit_point("inbox.lost")
_ANSWER_SECONDS = 0.02  # the time that arrivals wait for their answer, to share its sync to disk

_log = Log("bot.runtime.intake")


class AudienceResolver:
    """Resolves the audiences of a place, including private messages to its readers' linked accounts."""

    def __init__(self, people: People) -> None:
        self._people = people

    def with_audiences(self, place: Place) -> Place:
        """The place with the audiences of its reader's linked accounts."""
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

    `with_audiences` adds to a place the audiences of its reader's linked accounts; `ignored`
    (`bot.services.people.opted_out_people`): nothing that a person says, or said at that time, is stored or
    answered (edits and deletions are still applied); `paused`: nothing of that source is.
    """

    halt: HaltState
    with_audiences: Callable[[Place], Place]
    ignored: Callable[[PersonId | None, datetime], bool]
    paused: Callable[[str], bool]


class SharedParts(Struct, frozen=True):
    """What all constellations of the service share: the guards and the supervisor."""

    retry_policy: Callable[[str], RetryPolicy]
    gate: Gate
    supervisor: Supervisor


class Runtime(Protocol):
    """What the intake needs of its constellation's runtime."""

    @property
    def conversations(self) -> Mapping[tuple[PlaceId, GroupId], ConversationWorker]: ...
    def answer(self, place: PlaceId, group: GroupId) -> None: ...
    def resume(self) -> None: ...
    async def follow(self) -> None: ...


class ConstellationIntake:
    """Decides which notifications are accepted, stores them, and wakes the conversations concerned."""

    def __init__(
        self, database: Database, routing: GroupRouting, turn_deps: TurnDeps, shared: SharedParts, runtime: Runtime
    ) -> None:
        self._database = database
        self._routing, self._turn_deps = routing, turn_deps
        self._shared, self._runtime = shared, runtime

    async def accept(self, found: Sequence[Notification], waiting: Callable[[], int]) -> None:
        """Store notifications, all or none; after an unexpected error one by one, and those that fail twice are given
        up. `waiting` counts what waits for that."""
        try:
            await self._accept(found, waiting)
        except Exception:
            _log.warning("batch_not_stored", count=len(found), exc_info=True)
            for notification in found:
                await self._accept_alone(notification, waiting)
            self._runtime.resume()  # the first try may have stored some, which now wait

    async def _accept_alone(self, notification: Notification, waiting: Callable[[], int]) -> None:
        try:
            await self._accept([notification], waiting)
        except Exception:
            _log.exception("notification_not_stored", source=notification.source, external_id=notification.external_id)
            words = _(
                "Something that arrived from {source} (ID there: {external_id}) couldn't be stored in two "
                "attempts, so I can't answer it. The log has the details; please report it.",
                source=notification.source,
                external_id=notification.external_id,
            )
            key, now = f"lost/{notification.source}/{notification.external_id}", self._turn_deps.clock()
            await self._database.write(_LOST, lambda tx: self._turn_deps.notices.tell_owner(tx, key, words, now))

    async def _accept(self, found: Sequence[Notification], waiting: Callable[[], int]) -> None:
        """Store notifications; while the database refuses, keep and retry them. Other errors are raised."""
        routing = self._routing
        heard = [without_secrets(each, self._turn_deps.redact) for each in found]
        heard = [replace(each, place=self._shared.gate.with_audiences(each.place)) for each in heard]
        groups = [routing.group_of(each) for each in heard]
        clock, broker = self._turn_deps.clock, self._turn_deps.broker

        def take(tx: Tx) -> tuple[list[AcceptedRow | None], bool]:
            taken, queued = [], False
            for each, group in zip(heard, groups, strict=True):
                if each.kind == Kind.DELETE:
                    queued |= broker.taken_back(tx, each.source, each.subject, clock())
                decided = routing.for_state(tx, each, group, broker.terms.people.selves)
                accepted = self._take(tx, with_reaction(tx, each), decided, clock())
                turn_learning.note_feedback(tx, each, accepted, clock())
                taken.append(accepted)
            return taken, queued

        changes = any(each.kind in (Kind.EDIT, Kind.DELETE) for each in heard)
        late = any(each.at < self._shared.retry_policy(each.source).careful_before for each in heard)
        pairs = zip(heard, groups, strict=True)
        asked = {(each.place.id, group) for each, group in pairs if group and not (changes or late)}
        begun = asked - self._runtime.conversations.keys()

        def store() -> Awaitable[tuple[list[AcceptedRow | None], bool]]:
            """Store notifications. Idle conversations begin their turns in the same commit; the others are woken after
            it.

            After an edit or deletion all are woken later, so that no turn reads text that is about to be erased. The
            same goes for messages from before this process: a turn that crashes the process must not roll back its
            message, which would be fetched again and again. The commit that ends a turn, which follows at once without
            a language model, also syncs the arrivals to disk.
            """
            stored = self._database.write(_ACCEPT, take, durable=not begun)
            for place, group in begun:
                self._runtime.answer(place, group)
            return self._database.on_disk(stored, _ANSWER_SECONDS) if begun else stored

        what = f"arrivals in {self._database.path.parent.name}"
        accepted, queued = await until_stored(what, store, self._shared.supervisor.unstored, waiting)
        if changes:
            await self._runtime.follow()
        for row in accepted:
            if row is not None and (row.group is None or (row.place, row.group) not in begun):
                self._wake(row)
        if queued:
            self._runtime.resume()

    def _take(self, tx: Tx, heard: Notification, group: GroupId | None, now: datetime) -> AcceptedRow | None:
        """Accept a notification; for a person who opted out, only record how far the place was read."""
        ignored = self._shared.gate.ignored(heard.person, heard.at)
        if heard.kind == Kind.EDIT and ignored:
            group = None  # it deletes what was learned, and nothing new is learned from it
        elif heard.kind in (Kind.MESSAGE, Kind.REACTION, Kind.PASSED):
            if self._shared.gate.paused(heard.source):
                return None  # without moving the cursor, because a resumed source reads from there
            if heard.kind == Kind.PASSED or ignored:
                inbox.note_place(tx, heard, now)
                return None
        return inbox.accept(tx, heard, group, now)

    def _wake(self, row: AcceptedRow) -> None:
        if row.turn is not None:
            for (place, _group), conversation in self._runtime.conversations.items():
                if place == row.place:
                    conversation.changed(row.turn)
        if row.group is not None:
            self._runtime.answer(row.place, row.group)


_EXCERPT = 80  # characters of our message that a reaction quotes


def with_reaction(rows: Rows, heard: Notification) -> Notification:
    """A reaction with a quote of our message that it belongs to; anything else unchanged."""
    if heard.kind != Kind.REACTION:
        return heard
    row = outbox.said_by_us(rows, heard.source, heard.subject)
    about = f': "{one_line(row.content, _EXCERPT)}"' if row is not None and row.place == heard.place.id else ""
    return replace(heard, text=f"(reacted with {heard.text} to a message of yours{about})")


def without_secrets(notification: Notification, redact: Callable[[str], str]) -> Notification:
    """The notification without loaded secrets in its text, which are never stored or shown."""
    said, extras = notification.speaker, notification.extras
    quoted = extras.quoted
    return replace(
        notification,
        text=redact(notification.text),
        speaker=None if said is None else replace(said, name=redact(said.name)),
        extras=dataclasses.replace(
            extras,
            quoted=None if quoted is None else dataclasses.replace(quoted, text=redact(quoted.text)),
            attachments=tuple(
                dataclasses.replace(each, name=redact(each.name), text=redact(each.text)) for each in extras.attachments
            ),
            background=tuple(map(redact, extras.background)),
            blocks=tuple(dataclasses.replace(each, profile=redact(each.profile)) for each in extras.blocks),
        ),
    )
