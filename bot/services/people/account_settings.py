"""The settings by command for accounts of Carina and of people, shared by all constellations, in their current form."""

from collections.abc import Callable
from dataclasses import dataclass, field

from memory.queue import place_settings
from memory.queue.place_settings import Kind, Setting
from memory.store.database import Database
from memory.store.ids import PersonId
from sources.terminal import PERSON
from texts import language

OF_CONSTELLATION = ("group", "model")
"""Settings of a single constellation; all others are about accounts."""


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
    held: dict[tuple[Kind, str], Setting] = field(default_factory=dict, init=False)
    modes: dict[str, str] = field(default_factory=dict, init=False)
    """Modes by "discord:<channel, category or guild>"."""
    paused: dict[str, Setting] = field(default_factory=dict, init=False)
    """As in the store; the intake of messages uses the same object."""
    languages: dict[PersonId, str] = field(default_factory=dict, init=False)
    resumed: dict[str, Callable[[], None]] = field(default_factory=dict, init=False)
    """Called when a source is resumed, to read what was missed; missing for a source that is not connected."""

    async def load(self) -> None:
        """Read the settings; call this before accepting any message, and after an erasure."""
        found = await self.database.read(place_settings.settings)
        for kind, subject in [*self.held]:
            self.forget(kind, subject)
        for setting in found:
            if setting.kind not in OF_CONSTELLATION:
                self.hold(setting)

    def language(self, person: PersonId) -> str:
        """The language that a person chose with any of their accounts; empty without a choice."""
        return next((self.languages[each] for each in self.selves(person) if each in self.languages), "")

    def spoken(self, person: PersonId) -> str:
        """The language for messages to a person: their choice, else the owner's."""
        return self.language(person) or self.language(PERSON) or self.started

    def hold(self, setting: Setting) -> None:
        self.held[setting.kind, setting.subject] = setting
        match setting.kind:
            case "mode":
                self.modes[setting.subject] = setting.value
            case "language":
                self.languages[PersonId(setting.subject)] = setting.value
            case _:
                self.paused[setting.subject] = setting

    def forget(self, kind: Kind, subject: str) -> None:
        del self.held[kind, subject]
        match kind:
            case "mode":
                self.modes.pop(subject, None)
            case "language":
                self.languages.pop(PersonId(subject), None)
            case _:
                self.paused.pop(subject, None)
