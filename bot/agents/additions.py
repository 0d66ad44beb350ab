"""What a person adds before any of the answer was shown: the model is asked again with everything.

Most people write a thought in several messages. Waiting for the next one would delay every answer, so a turn begins
with the first message, and the others join it as long as nothing was done or shown.
"""

import time

from msgspec import Struct, field

from bot.agents.context.prompt import PromptInputs
from memory.queue.steps import MessagesJoined, has_effect
from memory.store.ids import PersonId, PlaceId

MOST_INTERRUPTIONS = 2
"""How often a turn's model call is restarted for additions; later ones join at the next step."""
HOLD_SECONDS = 1.5
"""How long an answer is held back in total while its reader is typing."""
_TYPING_SECONDS = 10.0  # Discord repeats the event this often, and never reports that typing stopped
_ON_ITS_WAY_SECONDS = 0.5
_NEVER = (0.0, False)
_MOST_PEOPLE = 1_000


def may_interrupt(material: PromptInputs, *, shown: bool) -> bool:
    """Whether a model call may be restarted: its turn did and showed nothing, and was not interrupted too often."""
    if shown or material.part is not None:
        return False
    joined = [step for step in material.steps if isinstance(step.body, MessagesJoined)]
    return len(joined) <= MOST_INTERRUPTIONS and not any(has_effect(step.body) for step in material.steps)


class TypingPeople(Struct):
    """Who is about to add something, as far as platforms report typing; kept in memory only."""

    _until: dict[tuple[PlaceId, PersonId], tuple[float, bool]] = field(default_factory=dict)
    """Until when somebody is taken to type, and whether what they typed is on its way to the conversation."""

    def types(self, place: PlaceId, person: PersonId) -> None:
        self._note((place, person), _TYPING_SECONDS, sent=False)

    def spoke(self, place: PlaceId, person: PersonId) -> None:
        """The person sent what they were typing: it is stored a moment later."""
        if (place, person) in self._until:
            self._note((place, person), _ON_ITS_WAY_SECONDS, sent=True)

    def took(self, place: PlaceId, person: PersonId | None) -> None:
        """A message of the person is being answered; typing since then goes on."""
        if person is not None and self._until.get((place, person), _NEVER)[1]:
            del self._until[place, person]

    def is_typing(self, place: PlaceId, person: PersonId | None) -> bool:
        """Whether the person is about to send more."""
        return person is not None and time.monotonic() < self._until.get((place, person), _NEVER)[0]

    def _note(self, who: tuple[PlaceId, PersonId], seconds: float, *, sent: bool) -> None:
        self._until.pop(who, None)
        self._until[who] = time.monotonic() + seconds, sent
        if len(self._until) > _MOST_PEOPLE:
            del self._until[next(iter(self._until))]
