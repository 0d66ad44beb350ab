"""A store with rows to be found, for the tests of search."""

from collections.abc import Mapping
from datetime import datetime
from math import cos, pi, sin
from pathlib import Path
from typing import Any

from memory.people.audience import Audience, Scope, Trust
from memory.queue import messages
from memory.queue.messages import NewMessage
from memory.search import vectors
from memory.search.all_domains import search
from memory.search.embedding.base import Embedding, Vector, to_vector
from memory.search.query import Query, Results
from memory.search.vectors import EmbeddedRow
from memory.store.clock import to_text
from memory.store.database import Tx
from memory.store.fulltext import index_text
from memory.store.ids import AgentId, PersonId, PlaceId, TurnId
from memory.store.records import replace
from memory.store.sqlite import Connection, connect
from tests.memory.parts import ANN, GUILD, NOON, a_turn, keep, lay_tables, spoken

STAR, MOON = AgentId("agent_star"), AgentId("agent_moon")
HALL, ATTIC = PlaceId("discord:hall"), PlaceId("discord:attic")
HERE = Scope(GUILD)
MODEL = "test:plane"
"""The embedder of `embed`: vectors in a plane."""
_NUMBERS = 256


class World:
    """Rows to be found; everything is said in the hall of guild 1 by Ann at noon unless told otherwise."""

    def __init__(self, tx: Tx) -> None:
        self.tx = tx
        self._count = 0

    def hear(self, text: str, **change: Any) -> str:
        self._count += 1
        heard = NewMessage(HALL, ANN, "Ann", text, "discord", str(self._count), GUILD, Trust.APPROVED, NOON)
        return str(messages.add(self.tx, replace(heard, **change)))

    def say(self, text: str, **change: Any) -> str:
        said = spoken(a_turn(id=TurnId(1), place=HALL), text, agent=STAR)
        return str(messages.add(self.tx, replace(said, **change)))

    def keep(self, text: str, agent: AgentId = STAR, person: PersonId = ANN, **change: Any) -> str:
        return keep(self.tx, text, change.pop("at", NOON), agent, person=person, **change).id

    def block(self, text: str, owner: str = STAR, audience: Audience = GUILD, at: datetime = NOON) -> str:
        self._count += 1
        name = f"blk_{self._count}"
        row = {"id": name, "agent_id": owner, "label": name, "description": "", "block_type": "working"}
        row |= {"permission": "read_write", "audience": audience, "content": text, "search_text": index_text(text)}
        row |= {"created_at": to_text(NOON), "updated_at": to_text(at), "profile": "about"}
        self.tx.insert("memory_blocks", {**row, "char_limit": "5000", "trust": "3"})
        return name

    def one_of_each(self, text: str, **change: Any) -> list[str]:
        return [self.keep(text, **change), self.hear(text, **change), self.block(text, **change)]


def opened(path: Path) -> tuple[World, Connection]:
    """A new store at that path with two agents; the connection is for the caller to close."""
    raw = connect(path)
    lay_tables(raw)
    raw.execute("BEGIN")
    tx = Tx(raw)
    for agent in (STAR, MOON):
        made = {"id": agent, "name": agent, "model": "", "system_prompt": "", "enabled_tools": "[]"}
        tx.insert("agents", {**made, "created_at": "", "updated_at": ""})
    return World(tx), raw


def look(world: World, text: str, scope: Scope = HERE, **more: Any) -> Results:
    return search(world.tx, Query(text, STAR, **more), scope)


def ids(results: Results) -> list[str]:
    return [hit.id for hit in results.hits]


def embed(tx: Tx, means: Mapping[str, tuple[float, float]]) -> None:
    """Give every row in which one of these words stands its vector; others get none."""
    vectors.choose(tx, MODEL, _NUMBERS)
    waiting = vectors.missing(tx, 1_000)
    for each in waiting:
        made = [_vector(text, means) for text in each.texts]
        if all(vector is not None for vector in made):
            vectors.store(
                tx, MODEL, [EmbeddedRow(each, tuple(Embedding(vector) for vector in made if vector is not None))]
            )


def _vector(text: str, means: Mapping[str, tuple[float, float]]) -> Vector | None:
    return next((in_plane(*vector) for word, vector in means.items() if word in text), None)


def in_plane(x: float, y: float) -> Vector:
    """A point of the plane, in as many numbers as the vectors of embedders have."""
    angles = (2 * pi * number / _NUMBERS for number in range(_NUMBERS))
    return to_vector(x * cos(angle) + y * sin(angle) for angle in angles)
