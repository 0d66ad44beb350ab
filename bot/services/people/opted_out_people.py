"""Who paused Carina or opted out, in all constellations. `bot.runtime.intake` drops their messages.

On Bluesky, `sources.bluesky.answer_rules` recognizes "stop".
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from bot.agents.permissions.roles_and_rights import Selves
from bot.services.transactions import commit
from memory.people import hidden_people, privacy_choices
from memory.people.privacy_choices import PrivacyChoice
from memory.store.clock import Clock, to_text
from memory.store.constellations import Constellations
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import PersonId

_FOLLOW = commit_point("privacy.follow")

_Stored: TypeAlias = tuple[dict[PersonId, tuple[PrivacyChoice, str]], dict[PersonId, list[tuple[str, str]]]]


def _stored(rows: Rows) -> _Stored:
    """People's choices, and the times of ended ones."""
    return privacy_choices.choices(rows), privacy_choices.ended(rows)


@dataclass
class Choices:
    """People's choices, cached from global.db."""

    constellations: Constellations
    clock: Clock
    selves: Selves
    """Every account of a person; a choice made with one of them applies to all."""
    _held: dict[PersonId, tuple[PrivacyChoice, str]] = field(default_factory=dict, init=False)
    _ended: dict[PersonId, list[tuple[str, str]]] = field(default_factory=dict, init=False)

    async def load(self) -> None:
        """Read the choices; call this before accepting any message, and after an erasure."""
        self._held, self._ended = await self.constellations.registry.read(_stored)

    def ignored(self, person: PersonId | None) -> bool:
        """Whether this person's messages are neither stored nor answered."""
        return person is not None and bool(self._held) and self.of(person) is not None

    def ignored_at(self, person: PersonId | None, said: datetime) -> bool:
        """Whether they are ignored, or were at that time: a platform's history may still have the message."""
        if person is None or not self._ended:
            return self.ignored(person)
        at = to_text(said)
        spans = (span for each in self.selves(person) for span in self._ended.get(each, ()))
        return self.ignored(person) or any(since <= at < until for since, until in spans)

    def of(self, person: PersonId) -> tuple[PrivacyChoice, str] | None:
        found = [self._held[each] for each in self.selves(person) if each in self._held]
        return next((each for each in found if each[0] is PrivacyChoice.OPTED_OUT), found[0] if found else None)

    def opted_out(self, person: PersonId) -> bool:
        return (chosen := self.of(person)) is not None and chosen[0] is PrivacyChoice.OPTED_OUT

    async def choose(self, person: PersonId, choice: PrivacyChoice | None) -> None:
        """Store a choice durably for all accounts of a person; None ends it. An account unlinked later keeps it."""
        now, people = self.clock(), self.selves(person)

        def work(tx: Tx) -> _Stored:
            for each in people:
                privacy_choices.choose(tx, each, choice, now)
            return _stored(tx)

        self._held, self._ended = await commit(self.constellations.registry, work)
        for each in self.constellations.all():
            async with self.constellations.use(each.id) as database:
                await self.follow(database)

    async def follow(self, database: Database) -> None:
        """Copy the choices to a constellation, whose search hides those people's words from others."""
        chosen = {person: since for person, (_, since) in self._held.items()}
        if await database.read(hidden_people.chosen) != chosen:
            await database.write(_FOLLOW, lambda tx: hidden_people.choices(tx, chosen))
