"""What front ends share with the services: their status, and their stored state."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime

from msgspec import Struct, field

from bot.errors import UserError
from bot.services.names import find_agent, find_group
from bot.services.people.place_settings import Places
from bot.services.transactions import Service, reads
from bot.storage_retry import until_stored
from memory import agents
from memory.people import access
from memory.queue import inbox, missed_messages
from memory.queue.messages import Message, newest_heard
from memory.queue.missed_messages import Gap, Span
from memory.store.constellations import Constellations
from memory.store.database import Database, Rows
from memory.store.faults import commit_point
from memory.store.ids import ConstellationId, GroupId, PersonId, PlaceId
from memory.store.logs import Log
from memory.store.records import replace
from sources.base import Notification, Place
from texts import _

_NOTE = commit_point("gaps.note")
_TRY = commit_point("gaps.try")
_FILL = commit_point("gaps.fill")
_CLOSE = commit_point("gaps.close")

_SOURCE, _AT_ONCE = "discord", 20

_log = Log("bot.services.system.front_ends")


class Gaps(Service, frozen=True):
    """The gaps of Discord's places in one constellation; `settle` waits until received messages are stored."""

    settle: Callable[[], Awaitable[None]]

    async def note(self, spans: Sequence[Span], reason: str, *, at_once: bool = False) -> None:
        """Record what is still to be read; returns when that is durable, however long the database refuses."""
        now = self.clock()
        first = now if at_once else now + missed_messages.FIRST_WAIT
        if not spans:
            return

        async def store() -> None:
            await self.database.write(
                _NOTE, lambda tx: missed_messages.note(tx, spans, reason, now, first), durable=True
            )

        await until_stored("gaps", store)
        if not at_once:
            _log.warning("gap_noted", places=[span.place for span in spans], reason=reason)

    @reads
    def due(self, rows: Rows) -> list[Gap]:
        return missed_messages.due(rows, _SOURCE, self.clock(), _AT_ONCE)

    @reads
    def wait(self, rows: Rows) -> float | None:
        """Seconds until the next gap is due; None if there is none."""
        found = missed_messages.next_try(rows, _SOURCE)
        return None if found is None else max((found - self.clock()).total_seconds(), 0)

    async def failed(self, span: Span, reason: str) -> None:
        """Reading the span failed again."""
        now = self.clock()
        await self.database.write(_TRY, lambda tx: missed_messages.failed(tx, span, reason, now))

    async def fill(self, span: Span) -> None:
        """The span was read; recorded once received messages are stored, else it is read again."""
        await self.settle()
        await self.database.write(_FILL, lambda tx: missed_messages.fill(tx, span))

    async def close(self, span: Span, reason: str) -> None:
        """The span can never be read: this is logged once, and shown for a while."""
        now = self.clock()
        new = await self.database.write(_CLOSE, lambda tx: missed_messages.close(tx, span, reason, now), durable=True)
        if new:
            _log.warning("gap_closed", place=span.place, reason=reason)

    @reads
    def never_wrote(self, rows: Rows, persons: Iterable[PersonId]) -> dict[PersonId, datetime | None]:
        """The persons whose direct messages were never heard, and since when they are let in."""
        since = {each.subject: each.at for each in access.rules(rows) if each.rule is access.Rule.ALLOW}
        return {person: since.get(person) for person in missed_messages.never_wrote(rows, persons)}


class Addressee(Struct, frozen=True):
    """Who is addressed: the name as written, and the group that answers."""

    name: str
    group: GroupId


class AgentChats(Struct, frozen=True):
    """Direct messages to agents in one constellation; `receive` accepts them like any other."""

    database: Database
    places: Places
    receive: Callable[[Notification], None]

    @reads
    def names(self, rows: Rows) -> list[str]:
        return [agent.name for agent in agents.agents(rows)]

    @reads
    def agent(self, rows: Rows, name: str, place: Place) -> Addressee:
        """An agent by name, in the place's group if it is in it, else in its first group.

        Raises UserError.
        """
        found = find_agent(rows, name)
        if found.status != "active":
            raise UserError("{name} is {status}, so it does not answer.", name=found.name, status=_(found.status))
        here = self.places.answering(place, "")
        groups = [each for each in agents.groups_of(rows, found.id) if each.speaks(found.id)]
        if not groups:
            raise UserError("{name} is in no group. `carina group add member` adds it to one.", name=found.name)
        return Addressee(found.name, next((each for each in groups if each.id == here), groups[0]).id)

    @reads
    def group(self, rows: Rows, name: str) -> Addressee:
        """A group by name. Raises UserError."""
        found = find_group(rows, name)
        if not agents.answering(rows, found):
            raise UserError("Everyone in {name} is archived, so nobody answers.", name=found.name)
        return Addressee(found.name, found.id)

    def say(self, notification: Notification, to: Addressee) -> None:
        """Let the addressee answer a person's message, whose text begins with that name as if it were typed."""
        self.receive(replace(notification, text=f"{to.name}: {notification.text}", to=to.group))


class FrontEndStates(Struct, frozen=True):
    """The status of the service's front ends; each adds its own when it is connected."""

    words: dict[str, Callable[[], str]] = field(default_factory=dict)
    """For people, by name."""
    ready: dict[str, Callable[[], bool]] = field(default_factory=dict)
    """Whether messages are received there."""
    beside: dict[str, Callable[[], bool]] = field(default_factory=dict)
    """Whether other parts of it work, without which messages are still received."""


class HeardPlaces(Struct, frozen=True):
    """How far places were read, and what was heard there last, in any constellation."""

    here: ConstellationId
    constellations: Constellations
    of: dict[PlaceId, ConstellationId] = field(default_factory=dict)
    """The constellation in which a place was last active."""

    async def cursors(self, source: str) -> dict[PlaceId, str]:
        """How far each place of a source was read, in any constellation; the furthest if it was in several."""
        found: dict[PlaceId, str] = {}
        for identifier in self._hearing(source):
            async with self.constellations.use(identifier) as database:
                read = await database.read(lambda rows: inbox.cursors(rows, source))
            for place, position in read.items():
                if (len(position), position) > (len(found.get(place, "")), found.get(place, "")):
                    found[place], self.of[place] = position, identifier
        return found

    async def recent(self, place: PlaceId, limit: int) -> list[Message]:
        """The last messages heard in a place, to compare with the place's history after an absence."""
        async with self.constellations.use(self.of.get(place, self.here)) as database:
            return await database.read(lambda rows: newest_heard(rows, place, limit))

    def _hearing(self, source: str) -> list[ConstellationId]:
        """The constellations that may have messages of a source; this one first."""
        assigned = self.constellations.assigned()
        others = {each.constellation for each in assigned if each.place.startswith(f"{source}:")}
        return [self.here, *sorted(others - {self.here})]
