"""The parts that are about people: who is let in, which accounts are one person's, what is kept of them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from bot.config import Config
from bot.runtime.intake import AudienceResolver
from bot.services.access import Access, configured_rules
from bot.services.accounts import Accounts
from bot.services.approvals import Approvals
from bot.services.erasure import Eraser
from bot.services.privacy import Choices, Privacy
from memory.store.constellation import Constellations
from memory.store.ids import ConstellationId, TurnId

Settle: TypeAlias = Callable[[], Awaitable[None]]
"""Waits until what was heard before is stored."""
Moved: TypeAlias = Callable[[ConstellationId, Sequence[TurnId]], None]
"""Tells running turns to look again."""


@dataclass(frozen=True)
class Community:
    """All of them, with what they know read from the store."""

    access: Access
    accounts: Accounts
    privacy: Privacy

    @property
    def services(self) -> tuple[object, ...]:
        """What people call of them."""
        return self.access, self.accounts, self.privacy


async def at_rest() -> None:
    """For a command on files that no service uses: there nothing is heard."""


def nobody(_house: ConstellationId, _turns: Sequence[TurnId]) -> None:
    """The same: there no turn runs."""


@dataclass(frozen=True)
class Ground:
    """What these stand on, made before them: what people chose and who hears what also guards the intake.

    `settle` waits until what was heard before is stored; `moved` tells running turns to look again.
    """

    constellations: Constellations
    folder: Path
    choices: Choices
    audience: AudienceResolver
    settle: Settle
    moved: Moved


async def open_community(config: Config, approvals: Approvals, ground: Ground) -> Community:
    """Make them for one constellation, with what was decided before."""
    constellations, people, clock = ground.constellations, approvals.people, approvals.clock
    terms = approvals.broker.terms
    access = Access(approvals.database, terms, clock, approvals.resume, configured_rules(config))
    accounts = Accounts(constellations, people, ground.audience, clock, ground.settle, ground.moved)

    async def erased() -> None:
        await access.load()
        await accounts.load()

    await erased()
    await accounts.narrow()
    await ground.choices.load()
    after = (ground.settle, ground.moved, erased, approvals.broker.erased, approvals.resume)
    eraser = Eraser(constellations, ground.folder, clock, *after)
    return Community(access, accounts, Privacy(constellations, people, ground.choices, eraser, clock))
