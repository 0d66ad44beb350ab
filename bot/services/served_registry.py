"""The operations of a service with several constellations: each call is done in the one of its caller."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from bot.services.caller import Caller
from bot.services.composition import ServedConstellations
from bot.services.constellations import named
from bot.services.registry import Operation, Registry, Suggestions
from bot.services.results import Plain, Result


class ServedRegistry(Registry):
    """Like the registry of one constellation, which is opened for the call where it is not open."""

    def __init__(self, served: ServedConstellations, operations: Mapping[str, Operation]) -> None:
        self._served = served
        self.operations = operations

    async def results(self, name: str, caller: Caller, given: Mapping[str, Any]) -> AsyncIterator[Result]:
        """Do it and give the results as they come."""
        async with self._of(caller) as registry:
            async for result in registry.results(name, caller, given):
                yield result

    async def plain(self, caller: Caller) -> Plain:
        """How a caller at a terminal is written to: on their clocks."""
        async with self._of(caller) as registry:
            return await registry.plain(caller)

    async def suggest(self, name: str, argument: str, caller: Caller, given: Mapping[str, Any]) -> Suggestions:
        """What can be given for an argument beside those that are given, as far as the caller may call at all."""
        async with self._of(caller) as registry:
            return await registry.suggest(name, argument, caller, given)

    async def permitted(self, operations: Sequence[Operation], caller: Caller) -> list[Operation]:
        """Those of them that this caller may call."""
        async with self._of(caller) as registry:
            return await registry.permitted(operations, caller)

    @asynccontextmanager
    async def _of(self, caller: Caller) -> AsyncIterator[Registry]:
        shared = self._served.shared
        identifier = shared.configured
        if caller.constellation:
            identifier = named(shared.constellations, caller.constellation)
        elif caller.location is not None:
            identifier = shared.constellations.of_place(caller.location.bindings, shared.configured)
        async with self._served.use(identifier) as services:
            yield services.registry
