"""What every turn is given: the parts that composition makes once."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from bot.agents import events
from bot.agents.additions import TypingPeople
from bot.agents.answers import Piece
from bot.agents.budgets import Budgets
from bot.agents.context.prompt import PromptInputs
from bot.agents.permissions.broker import Broker
from bot.agents.rate_limits import Rates
from bot.agents.tools.base import Toolset
from bot.models.base import Model
from memory.agents import Agent
from memory.blocks.store import CheckpointPolicy
from memory.people.audience import Scope
from memory.search.query import Nearness
from memory.store.clock import Clock
from memory.store.database import Database, Rows
from memory.store.ids import AgentId, PersonId, PlaceId
from sources.terminal import PERSON
from texts import speaking


@dataclass(frozen=True)
class Limits:
    """`max_steps` model calls a turn; seconds for one model call with all its retries, and for one tool."""

    max_steps: int = 25
    model_seconds: float = 180
    tool_seconds: float = 60


@dataclass(frozen=True)
class OwnersSide:
    """Where the owner is told what nobody asked for, and until when they are not to be disturbed, if now is such a
    time."""

    place: PlaceId
    quiet: Callable[[Rows, datetime], datetime | None]


OfFolders: TypeAlias = Callable[[str, AgentId | None, Scope, str], Awaitable[Mapping[str, Nearness]]]
"""(text, agent or any, scope, path) -> what finds passages of like meaning in the folders there that have an embedding
model of their own, by its name."""


@dataclass(frozen=True)
class Understood:
    """What finds rows of like meaning to a text; or, without, why words alone decide."""

    meaning: Nearness | None = None
    why: str = ""


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
    rates: Rates
    too_long: Callable[[str, str], str]
    """(source, text) -> what to tell the model of an answer that does not fit there; empty where it does."""
    budgets: Budgets
    owner: OwnersSide
    apology: str | None
    """What others than the owner read where no language model answers; empty for nothing. None: nothing in public, and
    elsewhere what the offline model can say."""
    meaning: Callable[[str], Awaitable[Nearness | None]]
    """What finds rows of like meaning to a text; None where there is no embedder, or where it took too long."""
    of_folders: OfFolders
    checkpoints: CheckpointPolicy
    """How what is written in blocks is kept."""
    watch: events.Watch
    typing: TypingPeople
    ready: Callable[[Agent, str], Awaitable[None]]
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
