"""The settings by command for accounts of Carina and of people, shared by all constellations, in their current form."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from memory.queue import place_settings
from memory.queue.place_settings import Kind, Setting
from memory.store.database import Database, Rows
from memory.store.ids import PersonId
from sources.terminal import PERSON
from texts import language

OF_CONSTELLATION = ("group", "model")
"""Settings of a single constellation; all others are about accounts."""

StoredSettings: TypeAlias = dict[tuple[Kind, str], Setting]


@dataclass
class AccountSettings:
    """Settings of Carina's accounts: channel modes, paused sources, and people's languages.

    All constellations share them; they are stored in the database of the configured one.
    """

    database: Database
    selves: Callable[[PersonId], tuple[PersonId, ...]]
    """All accounts of a person."""
    started: str = field(default_factory=language)
    """The language with which the program was started."""
    held: StoredSettings = field(default_factory=dict, init=False)
    modes: dict[str, str] = field(default_factory=dict, init=False)
    """Modes by "discord:<channel, category or guild>"; the source uses the same object."""
    resumed: dict[str, Callable[[], None]] = field(default_factory=dict, init=False)
    """Called when a source is resumed, to read what was missed; missing for a source that is not connected."""

    async def load(self) -> None:
        """Read the settings; call this before accepting any message, and after an erasure."""
        self.use(await self.database.read(stored_settings))

    def use(self, stored: StoredSettings) -> None:
        """Apply these from now on."""
        self.held = stored
        self.modes.clear()
        self.modes |= {subject: each.value for (kind, subject), each in self.held.items() if kind == "mode"}

    def is_paused(self, source: str) -> bool:
        """Whether a source is paused: nothing is stored or answered."""
        return ("pause", source) in self.held

    def language(self, person: PersonId) -> str:
        """The language that a person chose with any of their accounts; empty without a choice."""
        chosen = (self.held.get(("language", each)) for each in self.selves(person))
        return next((each.value for each in chosen if each is not None), "")

    def spoken(self, person: PersonId) -> str:
        """The language for messages to a person: their choice, else the owner's."""
        return self.language(person) or self.language(PERSON) or self.started


def stored_settings(rows: Rows) -> StoredSettings:
    return {(each.kind, each.subject): each for each in place_settings.settings(rows)}
