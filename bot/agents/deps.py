"""What every turn is given: the parts that composition makes once."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from bot.agents import events
from bot.agents.additions import TypingPeople
from bot.agents.answers import Piece
from bot.agents.budgets import Budgets
from bot.agents.context.prompt import PromptInputs
from bot.agents.permissions.broker import Broker
from bot.agents.rate_limits import NO_LIMITS, Rates
from bot.agents.tools.base import Toolset
from bot.models.base import Model
from memory.agents import Agent
from memory.blocks.store import DEFAULT_POLICY, CheckpointPolicy
from memory.people.audience import Scope
from memory.search.query import Nearness
from memory.store.clock import Clock
from memory.store.database import Database, Rows
from memory.store.ids import AgentId, PersonId, PlaceId
from sources.terminal import PERSON, PLACE
from texts import speaking


@dataclass(frozen=True)
class Limits:
    """`max_steps` model calls a turn; seconds for one model call with all its retries, and for one tool."""

    max_steps: int = 25
    model_seconds: float = 180
    tool_seconds: float = 60


def never_quiet(_rows: Rows, _now: datetime) -> datetime | None:
    """There are no quiet hours."""


@dataclass(frozen=True)
class OwnersSide:
    """Where the owner is told what nobody asked for, and until when they are not to be disturbed, if now is such a
    time."""

    place: PlaceId = PLACE.id
    quiet: Callable[[Rows, datetime], datetime | None] = never_quiet


async def words_alone(_text: str) -> Nearness | None:
    return None


OfFolders: TypeAlias = Callable[[str, AgentId | None, Scope, str], Awaitable[Mapping[str, Nearness]]]
"""(text, agent or any, scope, path) -> what finds passages of like meaning in the folders there that have an embedding
model of their own, by its name."""


async def none_of_folders(_text: str, _agent: AgentId | None, _scope: Scope, _path: str) -> Mapping[str, Nearness]:
    return {}


@dataclass(frozen=True)
class Understood:
    """What finds rows of like meaning to a text; or, without, why words alone decide."""

    meaning: Nearness | None = None
    why: str = ""


async def not_understood(_text: str) -> Understood:
    """Rows are found by words, and nobody expected more."""
    return Understood()


def anything_fits(_source: str, _text: str) -> str:
    """Where a file can hold what is long."""
    return ""


async def all_there(_agent: Agent, _call: str) -> None:
    """Which tools there are is known from the beginning."""


async def nothing_leaves(_database: Database, _material: PromptInputs) -> bool:
    return False


@dataclass(frozen=True)
class TurnDeps:
    """What every turn needs; made once by composition."""

    model: Callable[[Agent], Awaitable[Model]]
    tools: Callable[[Agent], Toolset]
    package: Callable[[str, str], list[Piece]]
    """(source, text) -> the messages of that source that say it."""
    redact: Callable[[str], str]
    """Takes loaded secrets out of a text."""
    clock: Clock
    limits: Limits
    broker: Broker
    rates: Rates = NO_LIMITS
    too_long: Callable[[str, str], str] = anything_fits
    """(source, text) -> what to tell the model of an answer that does not fit there; empty where it does."""
    budgets: Budgets = field(default_factory=Budgets)
    owner: OwnersSide = field(default_factory=OwnersSide)
    apology: str | None = None
    """What others than the owner read where no language model answers; empty for nothing. None: nothing in public, and
    elsewhere what the offline model can say."""
    meaning: Callable[[str], Awaitable[Nearness | None]] = words_alone
    """What finds rows of like meaning to a text; None where there is no embedder, or where it took too long."""
    of_folders: OfFolders = none_of_folders
    checkpoints: CheckpointPolicy = DEFAULT_POLICY
    """How what is written in blocks is kept."""
    watch: events.Watch = events.unwatched
    typing: TypingPeople = field(default_factory=TypingPeople)
    ready: Callable[[Agent, str], Awaitable[None]] = all_there
    """(agent, name of the tool to be called, or "") -> waits a while for tools that others offer to be known as they
    are now."""
    shrink: Callable[[Database, PromptInputs], Awaitable[bool]] = nothing_leaves
    """Compacts the conversation of a turn for which a model takes no more; whether anything left its view."""

    def speaking_to(self, person: PersonId | None) -> AbstractContextManager[None]:
        """What is said inside the context is for that person, in the language that they chose; else in the owner's."""
        return speaking(self.broker.spoken(person or PERSON))

    def names(self, agent: Agent) -> Collection[str]:
        """The names of all tools that an agent has now, those of MCP servers too."""
        return self.tools(agent).tools.keys()
