"""Messages that front ends missed: how far each place was read, and the gaps that remain to be read."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime

from msgspec import Struct, field

from bot.services.transactions import Service, reads
from bot.storage_retry import until_stored
from memory.people import admission_and_pairing
from memory.queue import inbox, missed_messages
from memory.queue.messages import Message, newest_heard
from memory.queue.missed_messages import Gap, Span
from memory.store.constellations import Constellations
from memory.store.database import Rows
from memory.store.faults import commit_point
from memory.store.ids import ConstellationId, PersonId, PlaceId
from memory.store.logs import Log
from texts import gettext_lazy

_NOTE = commit_point("gaps.note")
_TRY = commit_point("gaps.try")
_FILL = commit_point("gaps.fill")
_CLOSE = commit_point("gaps.close")

_SOURCE, _AT_ONCE = "discord", 20

_log = Log("bot.services.system.missed_messages")


class Gaps(Service, frozen=True):
    """The gaps of Discord's places in one constellation; `settle` waits until received messages are stored."""

    settle: Callable[[], Awaitable[bool]]

    async def note(self, spans: Sequence[Span], reason: str, *, at_once: bool = False) -> None:
        """Record a gap; returns when that is durable, however long the database refuses."""
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
        """Record that reading the span failed again."""
        now = self.clock()
        await self.database.write(_TRY, lambda tx: missed_messages.failed(tx, span, reason, now))

    async def fill(self, span: Span) -> None:
        """Record that the span was read, once the received messages are stored; else it is read again later."""
        if await self.settle():
            await self.database.write(_FILL, lambda tx: missed_messages.fill(tx, span))
        else:
            await self.failed(span, gettext_lazy("what was read could not be stored yet"))

    async def close(self, span: Span, reason: str) -> None:
        """Give up on a span that can never be read: logged once, and shown for a while."""
        now = self.clock()
        new = await self.database.write(_CLOSE, lambda tx: missed_messages.close(tx, span, reason, now), durable=True)
        if new:
            _log.warning("gap_closed", place=span.place, reason=reason)

    @reads
    def never_wrote(self, rows: Rows, persons: Iterable[PersonId]) -> dict[PersonId, datetime | None]:
        """The persons whose direct messages were never read, and since when they are admitted."""
        since = {
            each.subject: each.at
            for each in admission_and_pairing.rules(rows)
            if each.rule is admission_and_pairing.Rule.ALLOW
        }
        return {person: since.get(person) for person in missed_messages.never_wrote(rows, persons)}


class HeardPlaces(Struct, frozen=True):
    """How far places were read, and their last messages, in any constellation."""

    here: ConstellationId
    constellations: Constellations
    of: dict[PlaceId, ConstellationId] = field(default_factory=dict)
    """The constellation in which a place was last active."""

    async def cursors(self, source: str) -> dict[PlaceId, str]:
        """How far each place of a source was read; the furthest, if it was in several constellations."""
        found: dict[PlaceId, str] = {}
        for identifier in self._hearing(source):
            async with self.constellations.use(identifier) as database:
                read = await database.read(lambda rows: inbox.cursors(rows, source))
            for place, position in read.items():
                if (len(position), position) > (len(found.get(place, "")), found.get(place, "")):
                    found[place], self.of[place] = position, identifier
        return found

    async def recent(self, place: PlaceId, limit: int) -> list[Message]:
        """The last received messages of a place, to compare with its history after an absence."""
        async with self.constellations.use(self.of.get(place, self.here)) as database:
            return await database.read(lambda rows: newest_heard(rows, place, limit))

    def _hearing(self, source: str) -> list[ConstellationId]:
        """The constellations that may have messages of a source; this one first."""
        assigned = self.constellations.assigned()
        others = {each.constellation for each in assigned if each.place.startswith(f"{source}:")}
        return [self.here, *sorted(others - {self.here})]
