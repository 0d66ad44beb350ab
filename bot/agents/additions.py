"""What a person adds before anything of the answer to them was shown: the model is asked again with all of it.

Most people write a thought in several messages. Waiting for the next one would make every answer late, so a turn begins
with the first, and the others join it while nothing was done or shown.
"""

import time
from collections import OrderedDict
from dataclasses import dataclass, field

from bot.agents.context.prompt import PromptInputs
from bot.agents.context.quotes import estimate_tokens
from bot.models.base import Request, Usage
from bot.models.prices import priced
from memory.queue.steps import Joined, has_effect
from memory.store.ids import PersonId, PlaceId

MOST_INTERRUPTIONS = 2
"""How often a turn's model call is begun anew for what was added; what comes later joins at the next step."""
HOLD_SECONDS = 1.5
"""How long an answer is kept back, in all, while its reader is typing."""
_TYPING_SECONDS = 10.0  # Discord repeats the report as often, and never says that somebody stopped
_ON_ITS_WAY_SECONDS = 0.5
_MOST_PEOPLE = 1_000


def may_interrupt(material: PromptInputs, *, shown: bool) -> bool:
    """Whether a model call may be begun anew: its turn did and showed nothing, and was not interrupted too often."""
    if shown or material.part is not None:
        return False
    joined = sum(isinstance(step.body, Joined) for step in material.steps)
    return joined <= MOST_INTERRUPTIONS and not any(has_effect(step.body) for step in material.steps)


def spent_in_vain(model: str, request: Request, written: str) -> Usage:
    """What a call that was cancelled cost, as far as that can be known: no provider says how much it was."""
    messages = "".join(message.text for message in request.messages)
    asked = estimate_tokens("".join((request.system, messages, *map(str, request.tools))))
    return priced(model, Usage(asked, estimate_tokens(written) if written else 0))


@dataclass
class TypingPeople:
    """Who is about to add something, as far as platforms report that somebody is typing; kept in memory alone."""

    _until: OrderedDict[tuple[PlaceId, PersonId], float] = field(default_factory=OrderedDict)
    _sent: set[tuple[PlaceId, PersonId]] = field(default_factory=set)
    """Whose words are on their way to the conversation."""

    def types(self, place: PlaceId, person: PersonId) -> None:
        self._note((place, person), _TYPING_SECONDS)
        self._sent.discard((place, person))

    def spoke(self, place: PlaceId, person: PersonId) -> None:
        """What they were typing was sent: it is stored a moment later."""
        if (place, person) in self._until:
            self._note((place, person), _ON_ITS_WAY_SECONDS)
            self._sent.add((place, person))

    def took(self, place: PlaceId, person: PersonId | None) -> None:
        """What somebody sent is being answered; what they type since then is not over."""
        if person is not None and (place, person) in self._sent:
            self._drop((place, person))

    def is_typing(self, place: PlaceId, person: PersonId | None) -> bool:
        """Whether more of somebody is to be expected at once."""
        return person is not None and time.monotonic() < self._until.get((place, person), 0.0)

    def _note(self, who: tuple[PlaceId, PersonId], seconds: float) -> None:
        self._until[who] = time.monotonic() + seconds
        self._until.move_to_end(who)
        if len(self._until) > _MOST_PEOPLE:
            self._drop(next(iter(self._until)))

    def _drop(self, who: tuple[PlaceId, PersonId]) -> None:
        del self._until[who]
        self._sent.discard(who)
