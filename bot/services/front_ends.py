"""What front ends share with the services: how each of them is doing, and what it stored for itself."""

from collections.abc import Callable
from dataclasses import dataclass, field

from bot.agents.additions import TypingPeople
from bot.services.caller import Asker
from memory import agents, blocks
from memory.agents import Agent
from memory.blocks import Block, BlockType
from memory.queue import inbox
from memory.queue.messages import Message, newest_heard
from memory.store.clock import Clock
from memory.store.constellation import Constellations
from memory.store.database import Database, Rows
from memory.store.ids import ConstellationId, PlaceId


@dataclass(frozen=True)
class FrontEndStates:
    """How the front ends of the service are doing; each adds its own when it is connected."""

    words: dict[str, Callable[[], str]] = field(default_factory=dict)
    """For a person, by the name of each."""
    ready: dict[str, Callable[[], bool]] = field(default_factory=dict)
    """Whether people are heard there."""


@dataclass(frozen=True)
class FrontEnds:
    """What front ends ask of one constellation, and what they stored of all."""

    here: ConstellationId
    database: Database
    marks: Constellations
    clock: Clock
    typing: TypingPeople
    connected: FrontEndStates
    of: dict[PlaceId, ConstellationId] = field(default_factory=dict)
    """In which constellation a place was heard last."""

    async def blocks(self, asker: Asker) -> list[tuple[Agent, list[Block]]]:
        """Every agent's blocks that the asker may see here."""
        every = tuple(BlockType)

        def read(rows: Rows) -> list[tuple[Agent, list[Block]]]:
            return [
                (agent, blocks.visible_blocks(rows, agent.id, asker.scope, types=every))
                for agent in agents.agents(rows)
            ]

        return await self.database.read(read)

    async def agent_names(self) -> list[str]:
        """What the agents are called."""
        return [agent.name for agent in await self.database.read(agents.agents)]

    async def cursors(self, source: str) -> dict[PlaceId, str]:
        """How far each place of a source was read, in whatever constellation; the furthest where it was in several."""
        found: dict[PlaceId, str] = {}
        for identifier in self._hearing(source):
            async with self.marks.use(identifier) as database:
                read = await database.read(lambda rows: inbox.cursors(rows, source))
            for place, position in read.items():
                if (len(position), position) > (len(found.get(place, "")), found.get(place, "")):
                    found[place], self.of[place] = position, identifier
        return found

    async def recent(self, place: PlaceId, limit: int) -> list[Message]:
        """What was heard last in a place, for comparing it with the place's history after a time away."""
        if place not in self.of:
            return await self.database.read(lambda rows: newest_heard(rows, place, limit))
        async with self.marks.use(self.of[place]) as database:
            return await database.read(lambda rows: newest_heard(rows, place, limit))

    def _hearing(self, source: str) -> list[ConstellationId]:
        """The constellations in which something of a source may have been heard; this one first."""
        others = {each.constellation for each in self.marks.assigned() if each.place.startswith(f"{source}:")}
        return [self.here, *sorted(others - {self.here})]

    async def mark(self, name: str) -> str | None:
        """A mark that a front end stored for itself."""
        return await self.marks.position(name)

    async def set_mark(self, name: str, mark: str) -> None:
        await self.marks.note_position(name, mark)
