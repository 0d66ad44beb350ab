"""The parts that are about people: who is let in, which accounts are one person's, what is kept of them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from bot.config import Config
from bot.desks.admission import Admission, configured_rules
from bot.desks.approving import Approvals
from bot.desks.erasing import Eraser
from bot.desks.identities import Identities
from bot.desks.privacy import Choices, Privacy
from memory.clock import Clock
from memory.ids import ConstellationId, TurnId

Settle: TypeAlias = Callable[[], Awaitable[None]]
"""Waits until what was heard before is stored."""
Moved: TypeAlias = Callable[[ConstellationId, Sequence[TurnId]], None]
"""Tells running turns to look again."""


@dataclass(frozen=True)
class Community:
    """All of them, with what they know read from the store."""

    admission: Admission
    identities: Identities
    privacy: Privacy

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {**self.admission.handlers(), **self.identities.handlers(), **self.privacy.handlers()}


async def at_rest() -> None:
    """For a command on files that no service uses: there nothing is heard."""


def nobody(_house: ConstellationId, _turns: Sequence[TurnId]) -> None:
    """The same: there no turn runs."""


async def open_community(
    config: Config, approvals: Approvals, ground: tuple[Path, Clock], settle: Settle = at_rest, moved: Moved = nobody
) -> Community:
    """Make them for one constellation; `ground` is the data folder and the clock."""
    (folder, clock), constellations, people = ground, approvals.constellations, approvals.people
    admission = Admission(constellations, approvals.house, approvals.broker.terms, clock, approvals.resume)
    admission.configured = configured_rules(config)
    identities = Identities(constellations, people, clock, settle, moved)
    choices = Choices(constellations, clock)
    choices.selves = people.selves

    async def erased() -> None:
        await admission.load()
        await identities.load()

    await erased()
    await identities.narrow()
    await choices.load()
    eraser = Eraser(constellations, folder, clock, settle, moved, erased, approvals.broker.erased, approvals.resume)
    return Community(admission, identities, Privacy(constellations, people, choices, eraser, clock))
