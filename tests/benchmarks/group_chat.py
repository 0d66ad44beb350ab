"""Who said what: eight people tell the same sorts of things in one channel, and each of them is asked about.

A question means the asker ("my dog"), names one of the others ("Ben's dog"), or asks who it was ("who is allergic to
kiwi?"). What answers it is one message; the seven like it are about somebody else.
"""

import asyncio
import math
import random
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory.people.audience import PUBLIC, Scope
from memory.search.all_domains import search
from memory.search.query import Query
from memory.search.vector_similarity import Meaning
from memory.store.database import Rows, Tx
from memory.store.ids import PersonId
from tests.benchmarks.embedded import filled, meanings_of, packaged
from tests.benchmarks.locomo import hear
from tests.benchmarks.methods import AGENT
from tests.benchmarks.options import Options
from tests.benchmarks.report import Detail, Report
from tests.benchmarks.short_queries import chatter

TITLE = "Group chat: who said what"
_BEGIN = datetime(2026, 9, 1, 9, tzinfo=UTC)
_CUTS = (1, 3, 5)
_CHATTER = 400

_PEOPLE = ("Ann", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal")


@dataclass(frozen=True)
class _Topic:
    """What each person says in a way of their own, as far as there are ways, and what is asked about it."""

    ways: Sequence[str]
    mine: str
    named: str
    who: str
    values: Sequence[str]


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_TOPICS = [_Topic(**each) for each in _TABLE["topics"]]


@dataclass(frozen=True)
class _Asked:
    """One question: its kind, who asks, and the message that answers it."""

    kind: str
    text: str
    asker: PersonId
    answer: str


def _person(name: str) -> PersonId:
    return PersonId(f"bench:{name}")


def _statements() -> list[tuple[str, str, str]]:
    return [
        (f"{topic}/{name}", name, said.ways[(number + topic) % len(said.ways)].format(said.values[number]))
        for topic, said in enumerate(_TOPICS)
        for number, name in enumerate(_PEOPLE)
    ]


def _questions() -> list[_Asked]:
    found = []
    for topic, said in enumerate(_TOPICS):
        for number, name in enumerate(_PEOPLE):
            answer, other = f"{topic}/{name}", _person(_PEOPLE[number - 1])
            found += [
                _Asked("my", said.mine, _person(name), answer),
                _Asked("by name", said.named.format(name), other, answer),
                _Asked("who", said.who.format(said.values[number]), other, answer),
            ]
    return found


def _fill(tx: Tx) -> None:
    drawn = random.Random(5)
    said = [(f"chatter/{number}", drawn.choice(_PEOPLE), text) for number, text in enumerate(chatter(_CHATTER))]
    for statement in _statements():
        said.insert(drawn.randrange(len(said) + 1), statement)
    for number, (name, who, text) in enumerate(said):
        hear(tx, who, text, name, _BEGIN + timedelta(minutes=5 * number))


def _ask(rows: Rows, meanings: Mapping[str, Meaning] | None) -> Iterator[tuple[str, ...]]:
    """A line for each kind of question: how many are answered among the first hits, in percent."""
    named = {str(row[0]): row[1] for row in rows.all("SELECT id, external_id FROM messages")}
    ranks = defaultdict[str, list[float]](list)
    for each in _questions():
        meaning = meanings[each.text] if meanings else None
        query = Query(each.text, AGENT, frozenset(("messages",)), asker=each.asker, meaning=meaning)
        hits = [named[hit.id] for hit in search(rows, query, Scope(PUBLIC)).hits]
        ranks[each.kind].append(hits.index(each.answer) + 1 if each.answer in hits else math.inf)
    for kind, found in ranks.items():
        shares = (100 * sum(rank <= cut for rank in found) / len(found) for cut in _CUTS)
        yield ("carina" if meanings else "carina_no_embedder", kind, *(f"{share:.1f}" for share in shares))


async def _measured() -> list[tuple[str, ...]]:
    async with packaged() as embedder, filled(_fill, embedder) as database:
        ways: list[Mapping[str, Meaning] | None] = [None]
        if embedder is not None:
            ways.insert(0, await meanings_of(embedder, (each.text for each in _questions())))
        return await database.read(lambda rows: [line for way in ways for line in _ask(rows, way)])


def run(_options: Options) -> Report:
    heads = ("method", "question", *(f"R@{cut}" for cut in _CUTS))
    about = f"{len(_PEOPLE)} people, {len(_statements())} statements, {_CHATTER} sentences of chatter"
    return Report(TITLE, details=[Detail(about, heads, tuple(asyncio.run(_measured())))])
