"""`TurnDeps`: the dependencies of every turn, created once by composition."""

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct, field

from bot.agents import turn_events
from bot.agents.budgets import Budgets
from bot.agents.context.prompt import PromptInputs
from bot.agents.owner_notices import Notices
from bot.agents.permissions.approval_requests import Broker
from bot.agents.rate_limits import Rates
from bot.agents.tools.base import Toolset
from bot.models.base import Model
from memory.agents import Agent
from memory.blocks.store import CheckpointPolicy
from memory.people.audience import Scope
from memory.search.vector_similarity import Meaning
from memory.store.clock import Clock
from memory.store.database import Rows
from memory.store.ids import AgentId, PersonId, PlaceId, place_source
from memory.store.recent_values import RecentValues
from sources.base import Endpoint
from sources.terminal import PERSON
from texts import speaking

_TYPING_SECONDS = 10.0  # Discord repeats the event this often, and never reports that typing stopped
_ON_ITS_WAY_SECONDS = 0.5
_NEVER = (0.0, False)
_MOST_PEOPLE = 1_000


class TypingPeople(Struct):
    """People who are typing, as far as platforms report it; kept in memory only."""

    _until: RecentValues[tuple[PlaceId, PersonId], tuple[float, bool]] = field(
        default_factory=lambda: RecentValues(_MOST_PEOPLE)
    )
    """Until when somebody counts as typing, and whether the typed message is on its way to the conversation."""

    def types(self, place: PlaceId, person: PersonId) -> None:
        self._note((place, person), _TYPING_SECONDS, sent=False)

    def spoke(self, place: PlaceId, person: PersonId) -> None:
        """The person sent the message that they were typing; it is stored a moment later."""
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
        self._until.put(who, (time.monotonic() + seconds, sent))


class Limits(Struct, frozen=True):
    """`max_steps` model calls per turn; seconds for one model call with all retries, and for one tool."""

    max_steps: int = 25
    model_seconds: float = 180
    tool_seconds: float = 60


OfFolders: TypeAlias = Callable[[str, AgentId | None, Scope, str], Awaitable[Mapping[str, Meaning]]]
"""(text, agent or any, scope, path) -> the text's meaning for folders with their own embedding model, by model name."""


class TurnDeps(Struct, frozen=True):
    """The dependencies of every turn; created once by composition."""

    model: Callable[[Agent], Awaitable[Model]]
    tools: Callable[[Agent], Toolset]
    endpoints: Mapping[str, Endpoint]
    """The endpoints that send messages, by source."""
    redact: Callable[[str], str]
    """Removes loaded secrets from a text."""
    clock: Clock
    limits: Limits
    broker: Broker
    rates: Rates
    budgets: Budgets
    notices: Notices
    """Where the owner gets notices."""
    quiet: Callable[[Rows, datetime], datetime | None]
    """Returns the end of the owner's quiet hours; None outside them."""
    apology: str | None
    """What others than the owner read if no language model answers; empty for nothing. None: nothing in public,
    elsewhere the offline model's answer."""
    meaning: Callable[[str], Awaitable[Meaning | None]]
    """A text's meaning for a search; None without an embedder, or if it took too long."""
    of_folders: OfFolders
    checkpoints: CheckpointPolicy
    """How often documents of blocks get checkpoints."""
    watch: turn_events.Watch
    typing: TypingPeople
    ready: Callable[[Agent, str], Awaitable[None]]
    """(agent, name of the tool to be called, or "") -> waits a while until the current tools of servers are known."""
    shrink: Callable[[PromptInputs], Awaitable[bool]] | None = None
    """Compacts the conversation of a turn that is too long for the model; returns whether anything left its view."""

    def endpoint_at(self, place: PlaceId) -> Endpoint:
        """The endpoint that sends messages to a place."""
        return self.endpoints[place_source(place)].at(place)

    def speaking_to(self, person: PersonId | None) -> AbstractContextManager[None]:
        """Within the context, texts are in the person's chosen language; else in the owner's."""
        return speaking(self.broker.spoken(person or PERSON))
