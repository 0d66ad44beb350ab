"""What everything that is heard passes before it is stored; each of these guards somebody, so none has a default."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from bot.agents.permissions.policy import People
from bot.runtime.halt import HaltState
from memory.people.audience import OWNER, Audience, person_audience
from memory.store.ids import PersonId
from sources.base import Place


class AudienceResolver:
    """What the hearers of a place know: also what was said alone to other accounts of the person who hears it."""

    def __init__(self, people: People) -> None:
        self._people = people

    def heard_by(self, place: Place) -> Place:
        """A place, with what its hearers know as the person that they are: what their other accounts were told."""
        own = self.audiences(place.audience)
        return replace(place, within=(*place.within, *own)) if own else place

    def other_audiences(self, person: PersonId) -> tuple[Audience, ...]:
        """What was said alone to the other accounts of a person."""
        others = [each for each in self._people.selves(person) if each != person]
        return tuple(person_audience(each) for each in others if each not in self._people.owner)

    def audiences(self, audience: Audience) -> tuple[Audience, ...]:
        """The same for whoever hears something of that audience."""
        if audience == OWNER:
            return self.other_audiences(self._people.owner[0]) if self._people.owner else ()
        kind, _, person = audience.partition(":")
        return self.other_audiences(PersonId(person)) if kind == "person" else ()


@dataclass(frozen=True)
class Gate:
    """The guards of the intake.

    `heard_by` gives a place with all that its hearers know, `withheld` says whether nothing that a person says is
    stored or answered (edits and deletions still follow through), `deaf` whether a source is paused: nothing of it is
    stored or answered.
    """

    halt: HaltState
    heard_by: Callable[[Place], Place]
    withheld: Callable[[PersonId | None], bool]
    deaf: Callable[[str], bool]
