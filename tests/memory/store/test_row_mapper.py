"""Rows become records, and records rows, by the names and types of the record's fields."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from memory.people.audience import Audience, Scope, Trust
from memory.store.columns import many
from memory.store.database import Tx, as_dict
from memory.store.ids import AgentId, PersonId
from memory.store.row_mapper import RowMapper
from memory.store.sqlite import connect


@dataclass(frozen=True)
class Kept:
    id: int
    agent: AgentId
    person: PersonId | None
    words: str
    trust: Trust
    urgent: bool
    at: datetime
    due_at: datetime | None
    tags: tuple[str, ...]
    pairs: tuple[tuple[str, int], ...]
    rules: tuple[Mapping[str, Any], ...]
    detail: Mapping[str, Any]
    hearers: Scope
    left: int = 0


class Named(NamedTuple):
    id: int
    words: str


ROW = """SELECT 7 AS id, 'agt_1' AS agent_id, NULL AS person_id, NULL AS text, 2 AS trust, 1 AS urgent,
    '2026-11-22T12:00:00.000Z' AS at, NULL AS due_at, '["a","b"]' AS tags, '[["x",1]]' AS pairs,
    '[{"b":2}]' AS rules, '{"a": 1}' AS detail,
    'public' AS audience, '["guild:1"]' AS within"""


def test_a_row_becomes_a_record(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "rows.db")) as raw:
        row = raw.execute(ROW).fetchone()
        read = RowMapper(Kept, words="text", hearers=RowMapper(Scope), left=lambda row: 10 - row["id"])
        assert read(row) == Kept(
            id=7,
            agent=AgentId("agt_1"),
            person=None,
            words="",
            trust=Trust(2),
            urgent=True,
            at=datetime(2026, 11, 22, 12, tzinfo=UTC),
            due_at=None,
            tags=("a", "b"),
            pairs=(("x", 1),),
            rules=({"b": 2},),
            detail={"a": 1},
            hearers=Scope(Audience("public"), frozenset({Audience("guild:1")})),
            left=3,
        )
        assert RowMapper(Named, words="text")(row) == Named(7, "")
        kept = as_dict(row)
        assert read.values(read(row)) == {
            **kept,
            "at": datetime(2026, 11, 22, 12, tzinfo=UTC),
            "text": "",
            "tags": '["a", "b"]',
            "pairs": '[["x", 1]]',
            "rules": '[{"b": 2}]',
        }


ODD = [
    "",
    "plain",
    'quoted "twice" and \\ once',
    "line\nline\ttab",
    "nul \x00 and bell \x07",
    "日本語 👩‍👩‍👧",
    "\u2028 \ufeff",
    "{}",
]


def test_texts_numbers_and_nothing_come_back_as_they_are(tx: Tx) -> None:
    tx.run("CREATE TABLE odd (id INTEGER PRIMARY KEY, words TEXT, number INTEGER) STRICT")
    kept: list[list[Any]] = [[number, words, 2**62 + number] for number, words in enumerate(ODD)]
    kept += [[90, None, None], [91, "x" * 100_000, -(2**63)]]
    for each in kept:
        tx.run("INSERT INTO odd VALUES (?, ?, ?)", each)
    found = many(tx, "id, words, number", "SELECT * FROM odd WHERE id >= ?", (0,))
    assert sorted(found) == kept
    assert many(tx, "id", "SELECT id FROM odd WHERE id < 0") == []
