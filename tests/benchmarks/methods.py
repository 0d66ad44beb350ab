"""The ways to answer a question on a store that are compared: the product's search, and what it is measured against."""

import functools
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from memory.people.audience import PUBLIC, Scope
from memory.search.all_domains import search
from memory.search.query import Domain, Query
from memory.search.vector_similarity import Meaning
from memory.search.vectors import RowSet
from memory.store.database import Tx
from memory.store.fulltext import terms
from memory.store.ids import AgentId
from memory.store.sqlite import Connection
from tests.benchmarks.locomo import Turn

AGENT = AgentId("agt_bench")
DEEP = 100
"""Ranks that are looked at; further down a turn counts as not found."""

Ask: TypeAlias = Callable[[str], list[str]]
"""A question -> the ids of the turns that are found, best first."""


def external_ids(raw: Connection) -> dict[str, str]:
    return {
        str(row["id"]): row["external_id"] for row in raw.execute("SELECT id, external_id FROM messages").fetchall()
    }


def product(raw: Connection, meanings: Mapping[str, Meaning] | None = None, expects: bool = False) -> Ask:
    """The product's own search as agents use it, by words, and by what the questions mean if that is known.

    `expects`: with the words that a chat model expects in the answer.
    """
    ids = external_ids(raw)

    def ask(text: str) -> list[str]:
        words = expected(text) if expects else ""
        query = Query(
            text=text,
            agent=AGENT,
            domains=frozenset[Domain](("messages",)),
            limit=20,
            meaning=None if meanings is None else meanings[text],
            expected=words,
            expected_meaning=None if meanings is None else meanings.get(f"{text} {words}"),
            question=True,
        )
        return [ids[hit.id] for hit in search(Tx(raw), query, Scope(PUBLIC)).hits]

    return ask


@functools.cache
def _expected() -> Mapping[str, str]:
    lines = Path(__file__).with_name("expected_words.tsv").read_text("utf-8").splitlines()
    return dict(line.split("\t") for line in lines)


def expected(text: str) -> str:
    """What a large chat model expected in the answer to a question of LoCoMo, without having seen the talk.

    The file has no questions, only digests of them. The model has probably seen this public data, so what this finds is
    the most that a chat model can add.
    """
    return _expected().get(hashlib.sha256(text.encode()).hexdigest()[:12], "")


def keywords(text: str) -> str:
    """A question as models often put it to a search: without its small words."""
    content = {term.word for term in terms(text, mode="any")}
    return " ".join(word for word in re.findall(r"[\w']+", text) if word.casefold() in content)


def plain(raw: Connection, turns: Sequence[Turn]) -> Ask:
    """FTS5 as it comes over the same words: every word of the question, joined by OR."""
    raw.execute("CREATE VIRTUAL TABLE temp.plain USING fts5(text)")
    for number, turn in enumerate(turns):
        date = f"{turn.at.day} {turn.at:%B %Y}"
        text = f"{date} {turn.speaker}: {turn.text}"
        raw.execute("INSERT INTO temp.plain (rowid, text) VALUES (?, ?)", (number, text))

    def ask(text: str) -> list[str]:
        match = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
        sql = "SELECT rowid FROM temp.plain WHERE plain MATCH ? ORDER BY bm25(plain) LIMIT ?"
        return [turns[row[0]].id for row in raw.execute(sql, (match, DEEP)).fetchall()]

    return ask


def dense(raw: Connection, meanings: Mapping[str, Meaning]) -> Ask:
    """Vectors of the turns alone, compared with every one of them."""
    ids = external_ids(raw)
    numbers = [int(number) for number in ids]
    among = RowSet("message", AGENT, Scope(PUBLIC), None)

    def ask(text: str) -> list[str]:
        near = meanings[text].of(Tx(raw), among, numbers)
        best = sorted(near, key=lambda number: (near[number], number), reverse=True)
        return [ids[str(number)] for number in best[:DEEP]]

    return ask


def fused(*asks: Ask) -> Ask:
    """Reciprocal rank fusion of other methods, with k = 60."""

    def ask(text: str) -> list[str]:
        scores: dict[str, float] = {}
        for each in asks:
            for rank, turn in enumerate(each(text), 1):
                scores[turn] = scores.get(turn, 0.0) + 1 / (60 + rank)
        return sorted(scores, key=lambda turn: -scores[turn])

    return ask
