"""Gaps: which places could not be read back, kept until they are read and shown to whoever looks after the service."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime

import structlog

from bot.storage_retry import until_stored
from memory.people import access
from memory.queue import gaps
from memory.queue.gaps import Gap, Span
from memory.store.clock import Clock
from memory.store.database import Database, Rows
from memory.store.faults import commit_point
from memory.store.ids import PersonId

_NOTE = commit_point("gaps.note")
_TRY = commit_point("gaps.try")
_FILL = commit_point("gaps.fill")
_CLOSE = commit_point("gaps.close")

_AT_ONCE = 20

_log = structlog.get_logger("bot.services.gaps")


class Gaps:
    """The gaps of one source's places in one constellation; `settle` waits until what was heard is stored."""

    def __init__(
        self,
        source: str,
        database: Database,
        clock: Clock,
        settle: Callable[[], Awaitable[None]],
    ) -> None:
        self._source = source
        self._database = database
        self._clock = clock
        self._settle = settle

    async def note(self, spans: Sequence[Span], reason: str, *, at_once: bool = False) -> None:
        """Remember what is still to be read; returns when that is durable, however long the database refuses."""
        now = self._clock()
        first = now if at_once else now + gaps.FIRST_WAIT
        if not spans:
            return

        async def store() -> None:
            await self._database.write(_NOTE, lambda tx: gaps.note(tx, spans, reason, now, first), durable=True)

        await until_stored("gaps", store)
        if not at_once:
            _log.warning("gap_noted", places=[span.place for span in spans], reason=reason)

    async def due(self) -> list[Gap]:
        """Those that are to be read now."""
        now = self._clock()
        return await self._database.read(lambda rows: gaps.due(rows, self._source, now, _AT_ONCE))

    async def wait(self) -> float | None:
        """Seconds until one is to be read; None while there is none."""
        found = await self._database.read(lambda rows: gaps.next_try(rows, self._source))
        return None if found is None else max((found - self._clock()).total_seconds(), 0)

    async def failed(self, span: Span, reason: str) -> None:
        """It could not be read this time either."""
        now = self._clock()
        await self._database.write(_TRY, lambda tx: gaps.failed(tx, span, reason, now))

    async def fill(self, span: Span) -> None:
        """It was read; noted when what was heard is stored, else it is read once more."""
        await self._settle()
        await self._database.write(_FILL, lambda tx: gaps.fill(tx, span))

    async def close(self, span: Span, reason: str) -> None:
        """It cannot be read for good: that is logged once, and shown for a while."""
        now = self._clock()
        new = await self._database.write(_CLOSE, lambda tx: gaps.close(tx, span, reason, now), durable=True)
        if new:
            _log.warning("gap_closed", place=span.place, reason=reason)

    async def never_wrote(self, persons: Iterable[PersonId]) -> dict[PersonId, datetime | None]:
        """Those of whose direct messages none was ever heard, and since when they are let in."""

        def read(rows: Rows) -> dict[PersonId, datetime | None]:
            since = {each.subject: each.at for each in access.ruled(rows) if each.rule is access.Rule.ALLOW}
            return {person: since.get(person) for person in gaps.never_wrote(rows, persons)}

        return await self._database.read(read)
