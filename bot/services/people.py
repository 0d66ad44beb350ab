"""The parts that are about people, whichever constellation they talk to: their accounts, and what is kept of them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from bot.agents.permissions.broker import Broker
from bot.runtime.intake import AudienceResolver
from bot.services.accounts import Accounts
from bot.services.erasure import Eraser, Reloaded
from bot.services.privacy import Choices, Privacy
from memory.store.clock import Clock
from memory.store.constellation import Constellations
from memory.store.database import Database
from memory.store.ids import ConstellationId, TurnId

Settle: TypeAlias = Callable[[], Awaitable[None]]
"""Waits until what was heard before is stored."""
Moved: TypeAlias = Callable[[ConstellationId, Sequence[TurnId]], None]
"""Tells running turns to look again."""


@dataclass(frozen=True)
class Running:
    """What of the running service an erasure needs.

    `settle` waits until what was heard before is stored; `moved` tells running turns to look again; `deliver` sees to
    what was queued in a constellation; `reloaded` has what is kept in memory read again.
    """

    settle: Settle
    moved: Moved
    deliver: Callable[[ConstellationId], None]
    reloaded: Reloaded


@dataclass(frozen=True)
class Community:
    """All of them."""

    accounts: Accounts
    privacy: Privacy

    @classmethod
    def of(
        cls,
        broker: Broker,
        data: tuple[Constellations, Path],
        clock: Clock,
        guards: tuple[Choices, AudienceResolver],
        running: Running,
    ) -> "Community":
        """For one data folder."""
        (constellations, folder), (choices, audience), people = data, guards, broker.terms.people
        accounts = Accounts(constellations, people, audience, clock, running.settle, running.moved)

        async def erased() -> None:
            await running.reloaded()
            await accounts.load()

        after = running.settle, running.moved, erased, broker.erased, running.deliver
        eraser = Eraser(constellations, folder, clock, *after)
        return cls(accounts, Privacy(constellations, people, choices, eraser, clock))

    async def load(self) -> None:
        """Read what was chosen and linked before; to be done before anything is heard."""
        await self.accounts.load()
        await self.privacy.choices.load()

    @property
    def services(self) -> tuple[object, ...]:
        """What people call of them."""
        return self.accounts, self.privacy

    async def follow(self, constellation: ConstellationId, database: Database) -> None:
        """Let a constellation that is opened know what was chosen and unlinked while it was not."""
        await self.privacy.choices.follow(database)
        await self.accounts.narrow_here(constellation, database)
