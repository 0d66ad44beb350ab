"""What was decided by command about accounts of Carina and of people, for all constellations, as it is now."""

from collections.abc import Callable
from dataclasses import dataclass, field

from memory.queue import place_settings
from memory.queue.place_settings import Kind, Setting
from memory.store.database import Database
from memory.store.ids import PersonId
from sources.terminal import PERSON
from texts import language

OF_CONSTELLATION = ("group", "model")
"""What is decided in one constellation; all else is about the accounts."""


@dataclass
class AccountSettings:
    """What was decided about Carina's accounts: how places are heard, which sources are paused, and who is answered in
    which language.

    That is one for all constellations, and kept in the database of the configured one.
    """

    database: Database
    selves: Callable[[PersonId], tuple[PersonId, ...]]
    """All accounts of a person."""
    started: str = field(default_factory=language)
    """The language in which the program was started."""
    held: dict[tuple[Kind, str], Setting] = field(default_factory=dict, init=False)
    modes: dict[str, str] = field(default_factory=dict, init=False)
    """Modes by "discord:<channel, category or guild>"."""
    paused: dict[str, Setting] = field(default_factory=dict, init=False)
    """Kept as the store has them; whoever takes in what is heard has the same object."""
    languages: dict[PersonId, str] = field(default_factory=dict, init=False)
    resumed: dict[str, Callable[[], None]] = field(default_factory=dict, init=False)
    """What a source does when it is resumed, to read what was said meanwhile. Of one that is not here that is left."""

    async def load(self) -> None:
        """Read what was decided; to be done before anything is heard, and after somebody was erased."""
        found = await self.database.read(place_settings.settings)
        for kind, subject in [*self.held]:
            self.forget(kind, subject)
        for setting in found:
            if setting.kind not in OF_CONSTELLATION:
                self.hold(setting)

    def language(self, person: PersonId) -> str:
        """The language that somebody chose under any of their accounts; empty where they chose none."""
        return next((self.languages[each] for each in self.selves(person) if each in self.languages), "")

    def spoken(self, person: PersonId) -> str:
        """The language that somebody is told things in: the one that they chose, else the owner's."""
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
