"""What was decided about messages of Bluesky: heard and stored, or passed over. The store knows it after a restart."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, TypeVar

from memory.store.logs import Log
from sources.bluesky.filters import Why
from sources.bluesky.wiring import Wiring
from sources.recent import Recent

log = Log(__name__)

_MOST_TRIES = 3


class _Message(Protocol):
    @property
    def id(self) -> str: ...


M = TypeVar("M", bound=_Message)


class Decisions:
    """By the ids of messages."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._known: Recent[str, None] = Recent(5_000)
        self._tries: Recent[str, int] = Recent(1_000)

    def __contains__(self, message: str) -> bool:
        return message in self._known

    def add(self, messages: Collection[str]) -> None:
        """They are decided."""
        for each in messages:
            self._known.put(each, None)

    async def open(self, found: Sequence[M]) -> list[M]:
        """Those that were not decided before."""
        if unknown := [each.id for each in found if each.id not in self._known]:
            self.add(await self._wiring.seen(unknown))
        return [each for each in found if each.id not in self._known]

    async def pass_over(self, found: Mapping[str, Why]) -> None:
        """They are not heard; what is kept of them is why."""
        if found:
            await self._wiring.pass_over({each: str(why) for each, why in found.items()})
            self.add(found)
            log.info("bluesky_passed_over", reasons=sorted({str(why) for why in found.values()}), messages=len(found))

    async def unstored(self, given: Sequence[M]) -> list[M]:
        """Of what was delivered, that which did not arrive in the store: to be tried again, but not for ever."""
        await self._wiring.settled()
        missing = await self.open(given)
        for each in missing:
            self._tries.put(each.id, (self._tries.get(each.id) or 0) + 1)
        hopeless = {each.id: Why.UNFIT for each in missing if (self._tries.get(each.id) or 0) >= _MOST_TRIES}
        await self.pass_over(hopeless)
        return [each for each in missing if each.id not in hopeless]
