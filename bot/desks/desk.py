"""What people ask the service about itself and its memory, for any front end: every answer is scoped.

`Asker` says who asks and who will see the answer. The owner sees what the owner's places may use; everybody
else sees what the place of the question may use.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from bot.models.standing import Standing
from bot.tools.base import Toolset
from memory import agents, blocks, inbox, outbox, undelivered
from memory.agents import Agent
from memory.audience import Scope
from memory.blocks import Block, BlockType
from memory.blocks.damage import damage_since
from memory.clock import Clock, to_text
from memory.constellation import Constellations
from memory.database import Rows
from memory.ids import ConstellationId, PersonId, PlaceId
from memory.messages import Message, newest_heard

_DAMAGE_SHOWN = timedelta(days=30)


@dataclass(frozen=True)
class Asker:
    """Who asks, and the scope of those who will see the answer."""

    person: PersonId
    scope: Scope
    is_owner: bool = False


@dataclass(frozen=True)
class ServiceStatus:
    """How the constellation stands: numbers and states, no text of anybody."""

    constellation: str
    agents: tuple[tuple[str, str], ...]
    """Name and model of each."""
    waiting: int
    """Notifications that wait for an answer."""
    dead: int
    unsent: int
    started: str
    """Since when the service runs, in UTC."""
    failed: int = 0
    """Rows of the outbox that were not delivered and wait for the owner's word."""
    unknown: int = 0
    """The same, where nobody can tell whether they were."""
    fronts: dict[str, str] = field(default_factory=dict)
    models: tuple[Standing, ...] = ()
    unset: Mapping[str, str] = field(default_factory=dict)
    """What is not configured, with the setting that would do it."""

    damage: tuple[str, ...] = ()
    """What was found damaged in memory during the last days, for the owner."""
    halted: str = ""
    """Since when everything is halted; empty when nothing is."""
    unstored: str = ""
    """Since when and why a database takes no writes, and what waits; empty when nothing does."""
    embedding: str = ""
    """How the embedder stands, in words."""
    mcp: Mapping[str, str] = field(default_factory=dict)
    """How each MCP server stands, in words."""

    def lines(self) -> list[str]:
        """For a person: one line for each part, then the numbers."""
        return [
            *([f"HALTED since {self.halted}: `carina release` or /halt release goes on"] if self.halted else []),
            *([f"database: {self.unstored}"] if self.unstored else []),
            *(f"{name}: {words}" for name, words in self.fronts.items()),
            *(f"{part}: not configured (set {setting})" for part, setting in self.unset.items()),
            *(f"model {model.model}: {model.words}" for model in self.models),
            *([f"embedding: {self.embedding}"] if self.embedding else []),
            *(f"MCP server {name}: {words}" for name, words in self.mcp.items()),
            *(f"agent {name}: {model}" for name, model in self.agents),
            *(f"memory: {words}" for words in self.damage),
            f"{self.waiting} waiting for an answer, {self.unsent} to be sent, {self.dead} given up",
            *([self._undelivered()] if self.failed or self.unknown else []),
        ]

    def _undelivered(self) -> str:
        counted = ((self.failed, "not delivered"), (self.unknown, "perhaps delivered, perhaps not"))
        words = ", ".join(f"{count} {what}" for count, what in counted if count)
        return f"outbox: {words}; `carina outbox list` and /outbox list show them"

    def data(self) -> dict[str, Any]:
        """For a program, with the lines for a person."""
        models = [{"model": each.model, "state": str(each.state), "words": each.words} for each in self.models]
        return {
            "running": True,
            "started": self.started,
            "halted": self.halted,
            "unstored": self.unstored,
            "constellation": self.constellation,
            "fronts": self.fronts,
            "not_configured": dict(self.unset),
            "models": models,
            "embedding": self.embedding,
            "mcp": dict(self.mcp),
            "agents": dict(self.agents),
            "waiting": self.waiting,
            "unsent": self.unsent,
            "dead": self.dead,
            "failed": self.failed,
            "unknown": self.unknown,
            "damage": list(self.damage),
            "lines": self.lines(),
        }


class Desk:
    """Answers about one constellation."""

    def __init__(
        self, constellations: Constellations, house: ConstellationId, default_model: str, clock: Clock
    ) -> None:
        self._constellations = constellations
        self._house = house
        self._default_model = default_model
        self.clock = clock
        self.started = to_text(clock())
        self.front_states: dict[str, Callable[[], str]] = {}
        """Words on how each front end stands, by its name."""
        self.standings: Callable[[Iterable[str]], tuple[Standing, ...]] = lambda _names: ()
        """How models stand, given the names of those that agents use."""
        self.halted: Callable[[], str] = str
        """Since when everything is halted, empty when nothing is."""
        self.unstored: Callable[[], str] = str
        """Words on what waits for a database that takes no writes, empty when nothing does."""
        self.embedding: Callable[[Rows], str] = lambda _rows: ""
        """Words on how the embedder stands, and how much waits for it in this constellation."""
        self.mcp: Callable[[], Mapping[str, str]] = dict
        """Words on how each MCP server stands."""
        self.toolset: Callable[[Agent], Toolset] = lambda _agent: Toolset()
        """The tools that an agent has."""
        self.unset: Mapping[str, str] = {}
        """What is not configured, with the setting that would do it."""

    async def status(self) -> ServiceStatus:
        """How things stand."""
        named = next(known.name for known in self._constellations.all() if known.id == self._house)
        async with self._constellations.use(self._house) as database:
            since = self.clock() - _DAMAGE_SHOWN
            found, counts, damage, embedding = await database.read(
                lambda rows: (agents.agents(rows), _counts(rows), damage_since(rows, since), self.embedding(rows))
            )
        named_agents = tuple((agent.name, self.model_of(agent)) for agent in found)
        return ServiceStatus(
            constellation=named,
            started=self.started,
            agents=named_agents,
            fronts={name: state() for name, state in self.front_states.items()},
            models=self.standings(model for _name, model in named_agents),
            unset=self.unset,
            damage=tuple(each.words for each in damage),
            halted=self.halted(),
            unstored=self.unstored(),
            embedding=embedding,
            mcp=self.mcp(),
            **counts,
        )

    async def blocks(self, asker: Asker) -> list[tuple[Agent, list[Block]]]:
        """Every agent's blocks that the asker may see here."""
        every = tuple(BlockType)

        def read(rows: Rows) -> list[tuple[Agent, list[Block]]]:
            return [
                (agent, blocks.visible_blocks(rows, agent.id, asker.scope, types=every))
                for agent in agents.agents(rows)
            ]

        async with self._constellations.use(self._house) as database:
            return await database.read(read)

    async def agents(self) -> list[Agent]:
        """Who lives here; names, settings and rules are nobody's words."""
        async with self._constellations.use(self._house) as database:
            return await database.read(agents.agents)

    async def agent_names(self) -> list[str]:
        """What the agents are called."""
        return [agent.name for agent in await self.agents()]

    def tools_of(self, agent: Agent) -> list[str]:
        """The tools that it really has: of those it may use, the ones that are there."""
        return sorted(self.toolset(agent).tools)

    def model_of(self, agent: Agent) -> str:
        """The model an agent uses: its own, else the service's."""
        return agent.model or self._default_model

    async def cursors(self, source: str) -> dict[PlaceId, str]:
        """How far each place of a source was read."""
        async with self._constellations.use(self._house) as database:
            return await database.read(lambda rows: inbox.cursors(rows, source))

    async def recent(self, place: PlaceId, limit: int) -> list[Message]:
        """What was heard last in a place, for comparing it with the place's history after a time away."""
        async with self._constellations.use(self._house) as database:
            return await database.read(lambda rows: newest_heard(rows, place, limit))

    async def mark(self, name: str) -> str | None:
        """A mark that a front end stored for itself."""
        return await self._constellations.position(name)

    async def set_mark(self, name: str, mark: str) -> None:
        await self._constellations.note_position(name, mark)


def _counts(rows: Rows) -> dict[str, Any]:
    return {**inbox.counts(rows), "unsent": outbox.count_open(rows), **undelivered.counts(rows)}
