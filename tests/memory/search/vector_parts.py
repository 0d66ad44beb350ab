"""Vectors for tests: of one word each, so that what is near to what can be said in words."""

import random
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from memory.people.audience import Audience, Scope, Trust
from memory.queue import messages
from memory.queue.messages import NewMessage
from memory.search import vectors
from memory.search.embedding.base import Embedding, Vector, to_vector
from memory.search.vector_texts import KINDS, Embeddable, Embedded
from memory.search.vectors import EmbeddedRow, Question, RowSet
from memory.store.database import Rows, Tx, Value
from memory.store.ids import AgentId, MessageId, PersonId, PlaceId
from memory.store.sqlite import cosine_distance
from tests.memory.parts import ANN, HALL, NOON, STAR

MODEL = "words"
DIMENSION = 64
STORED = "FROM vectors v JOIN vector_spaces s ON s.id = v.space_id JOIN vector_numbers n ON n.id = v.id"


def pointing(text: str) -> Vector:
    """A vector that depends on every word of a text: texts that share words are near to each other."""
    words = [_drawn(word.strip("[]:,.")) for word in text.casefold().split()]
    return to_vector(map(sum, zip(*words, strict=True)))


@cache
def _drawn(word: str) -> list[float]:
    drawn = random.Random(word)
    return [drawn.gauss(0, 1) for _ in range(DIMENSION)]


def embed(found: Iterable[Embeddable]) -> list[EmbeddedRow]:
    return [EmbeddedRow(each, tuple(Embedding(pointing(text)) for text in each.texts)) for each in found]


def embed_all(tx: Tx, model: str = MODEL) -> int:
    """Do what the background task does, until nothing is missing; how many rows."""
    vectors.choose(tx, model, DIMENSION)
    done = 0
    while found := vectors.missing(tx, 8):
        done += vectors.store(tx, model, embed(found))
    return done


def say(
    tx: Tx,
    text: str,
    audience: Audience = HALL.audience,
    place: PlaceId = HALL.id,
    person: PersonId = ANN,
    at: datetime = NOON,
) -> MessageId:
    number = tx.one("SELECT count(*) AS n FROM messages")
    external = str(number["n"] if number is not None else 0)
    return messages.add(tx, NewMessage(place, person, "Ann", text, "discord", external, audience, Trust.APPROVED, at))


class Asking(NamedTuple):
    """A text that is looked for among the rows of every kind."""

    vector: Vector
    model: str = MODEL
    agent: AgentId | None = STAR
    limit: int = 50
    where: tuple[str, tuple[Value, ...]] | None = None
    """Of messages alone."""


class Near(NamedTuple):
    kind: Embedded
    row: int
    cosine: float


def asking(text: str, **change: Any) -> Asking:
    return Asking(pointing(text), **change)


def question(asked: Asking, kind: Embedded, scope: Scope) -> Question:
    narrowed = asked.where if kind == "message" else None
    return Question(asked.model, asked.vector, RowSet(kind, asked.agent, scope, narrowed))


def nearest(rows: Rows, asked: Asking, scope: Scope) -> list[Near]:
    """The nearest rows of every kind, the nearest first."""
    found = [
        Near(kind, *each)
        for kind in KINDS
        for each in vectors.nearest(rows, question(asked, kind, scope), asked.limit).items()
    ]
    return sorted(found, key=lambda near: (-near.cosine, -near.row))


def cosine(left: Vector, right: Vector) -> float:
    return 1 - cosine_distance(left, right)


def held(rows: Rows) -> Sequence[tuple[str, int]]:
    """Every vector that is kept: kind and row."""
    return [(row[0], row[1]) for row in rows.all(f"SELECT s.kind, v.row {STORED} ORDER BY v.id")]
