"""Which posts and direct messages were already read, so that none is answered twice."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, TypeVar

from memory.store.logs import Log
from memory.store.recent_values import RecentValues
from sources.bluesky.answer_rules import SkipReason
from sources.bluesky.settings import Wiring

_log = Log(__name__)
_MOST_TRIES = 3


class _Message(Protocol):
    @property
    def id(self) -> str: ...


M = TypeVar("M", bound=_Message)


class AlreadyRead:
    """The ids of posts and messages that were answered or skipped. The store has them all; the newest are kept here."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._known: RecentValues[str, None] = RecentValues(5_000)
        self._tries: RecentValues[str, int] = RecentValues(1_000)

    def __contains__(self, message: str) -> bool:
        return message in self._known

    def add(self, messages: Collection[str]) -> None:
        for each in messages:
            self._known.put(each, None)

    async def open(self, found: Sequence[M]) -> list[M]:
        if unknown := [each.id for each in found if each.id not in self._known]:
            self.add(await self._wiring.seen(unknown))
        return [each for each in found if each.id not in self._known]

    async def pass_over(self, found: Mapping[str, SkipReason]) -> None:
        """Record that these are not heard, with the reason only."""
        if found:
            await self._wiring.pass_over({each: str(why) for each, why in found.items()})
            self.add(found)
            _log.info(
                "bluesky_posts_skipped", reasons=sorted({str(why) for why in found.values()}), messages=len(found)
            )

    async def unstored(self, given: Sequence[M]) -> list[M]:
        """Delivered messages that did not reach the store; each is retried a limited number of times.

        One that only waits for a database is not given up: it would be lost at the end of the process.
        """
        stored = await self._wiring.settled()
        missing = await self.open(given)
        for each in missing if stored else ():
            self._tries.put(each.id, (self._tries.get(each.id) or 0) + 1)
        hopeless = {each.id: SkipReason.UNFIT for each in missing if (self._tries.get(each.id) or 0) >= _MOST_TRIES}
        await self.pass_over(hopeless)
        return [each for each in missing if each.id not in hopeless]
