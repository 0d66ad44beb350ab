"""Blocks for tests: two agents in a fresh file, and records to write with."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from memory.agents import Agent, seed_agent
from memory.blocks import Author, Block, NewBlock, create_block, find_block
from memory.blocks.changes import SYSTEM, Writer, agent_writer, person_writer
from memory.blocks.store import CheckpointPolicy, HistoryLimits
from memory.people.audience import Audience, Scope, Trust, channel_audience, guild_audience, person_audience
from memory.store.database import Tx
from memory.store.ids import AgentId, GuildId, PersonId, PlaceId, TurnId
from memory.store.records import replace
from tests.memory.parts import store

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
ADA, BEA = AgentId("agt_ada"), AgentId("agt_bea")
MIA = PersonId("discord:7")
GUILD = guild_audience(GuildId("discord:1"))
DM = person_audience(MIA)
CHANNEL = channel_audience(PlaceId("discord:11"))
IN_GUILD = Scope(GUILD)
IN_DM = Scope(DM, frozenset({GUILD}))
IN_CHANNEL = Scope(CHANNEL, frozenset({GUILD}))
AGENT, PERSON, JOB = agent_writer(ADA), person_writer(MIA), Writer("job:sleep")
SMALL = CheckpointPolicy(updates=3, keep=2)
SHORT = CheckpointPolicy(updates=4, keep=2, limits=HistoryLimits(changes=8, recent=3))
"""Archives changes after a few edits."""


@contextmanager
def blocks_store() -> Iterator[Tx]:
    """A fresh constellation in memory, with the agents Star, Ada and Bea."""
    tx = store()
    for identifier, name in ((ADA, "Ada"), (BEA, "Bea")):
        seed_agent(tx, Agent(identifier, name, "", "offline", "", ()), NOW)
    yield tx
    tx._raw.close()


def new(label: str = "notes", audience: Audience = GUILD, **more: Any) -> NewBlock:
    return replace(NewBlock(ADA, label, f"About {label}.", audience, Trust.OWNER), **more)


def author(scope: Scope = IN_GUILD, agent: AgentId = ADA, **more: Any) -> Author:
    made = Author(agent, scope, agent_writer(agent), Trust.AGENT, NOW, TurnId(3), policy=SMALL)
    return replace(made, **more)


def made(tx: Tx, block: NewBlock | None = None) -> Block:
    return create_block(tx, block or new(), SYSTEM, NOW)


def below(standing: str, added: str) -> str:
    """A text with another one appended, on a line of its own."""
    return f"{standing}\n{added}" if added and standing and not standing.endswith("\n") else standing + added


def row(tx: Tx, label: str = "notes") -> Block:
    return find_block(tx, ADA, label, IN_GUILD)
