"""Reading one domain: the rows that have a word, the rows of a listing. Conditions hold before anything is cut."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from memory.people.audience import Scope
from memory.search.domains import Condition, Table, where
from memory.search.query import Among
from memory.search.question import COLOURED
from memory.store.database import Row, Rows
from memory.store.ids import AgentId

COUNTED_ROWS = 10_000
"""`Lookup.count` counts no further than this."""

_FEW = 20  # rows of an index that are looked up one by one
_MOST_HELD = 20_000  # rows with one word that are weighed; older ones are not found by it


@dataclass(frozen=True)
class Lookup:
    """One domain's rows that meet a query's conditions; those of the scope hold for what is read beside them too."""

    rows: Rows
    table: Table
    agent: AgentId | None
    scope: Scope
    narrowed: tuple[Condition, ...]

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Everything that must hold for a row; the audience is among it."""
        return *self.narrowed, self.table.living(self.agent), Condition(*self.scope.sql("t.audience"))

    @cached_property
    def among(self) -> Among:
        """The same for vectors, which keep to what is alive and to the scope by themselves. The domain has vectors."""
        if self.table.embedded is None:
            raise ValueError(f"{self.table.domain} has no vectors")
        narrowed = where(self.narrowed) if self.narrowed else None
        return Among(self.table.embedded, self.agent, self.scope, narrowed)

    def count(self) -> int:
        """How many rows there are, whatever their words; up to `COUNTED_ROWS`."""
        condition, parameters = where(self.conditions)
        sql = f"SELECT count(*) FROM (SELECT 1 FROM {self.table.name} t WHERE {condition} LIMIT {COUNTED_ROWS})"
        row = self.rows.one(sql, parameters)
        return 0 if row is None else int(row[0])

    def count_things(self) -> int:
        """The same for saying what was searched: a long entry, or a file, is one, however many passages it has."""
        condition, parameters = where(self.conditions)
        table = self.table
        sql = f"SELECT {table.thing} AS thing FROM {table.name} t WHERE {condition} LIMIT {COUNTED_ROWS}"
        row = self.rows.one(f"SELECT count(DISTINCT thing) FROM ({sql})", parameters)
        return 0 if row is None else int(row[0])

    def newest(self, limit: int) -> list[Row]:
        condition, parameters = where(self.conditions)
        return self.rows.all(
            f"SELECT {self._columns()} FROM {self.table.name} t WHERE {condition} "
            f"ORDER BY {self.table.moment} DESC, t.{self.table.number} DESC LIMIT ?",
            (*parameters, limit),
        )

    def newest_with(self, symbols: Sequence[str], limit: int) -> list[Row]:
        """The newest rows whose text has all of the symbols as they stand; every row is looked at."""
        condition, parameters = where((*self.conditions, Condition("t.search_text <> ''")))
        having = " AND ".join("instr(replace(text, ?, ''), ?)" for _ in symbols)
        return self.rows.all(
            f"SELECT * FROM (SELECT {self._columns()} FROM {self.table.name} t WHERE {condition}) WHERE {having} "
            "ORDER BY moment DESC, number DESC LIMIT ?",
            (*parameters, *(each for symbol in symbols for each in (COLOURED, symbol)), limit),
        )

    def hits(self, numbers: list[int]) -> list[Row]:
        """What a hit shows of rows that were found before, the newest first."""
        number = f"t.{self.table.number}"
        return self.rows.all(
            f"SELECT {self._columns()} FROM {self.table.name} t "
            f"WHERE {number} IN (SELECT value FROM json_each(?)) ORDER BY {number} DESC",
            (json.dumps(numbers),),
        )

    def holding(self, word: str) -> list[tuple[int, int]]:
        """The newest rows that have a word, a MATCH expression, with their lengths in characters."""
        name, index, number = self.table.name, self.table.index, self.table.number
        condition, parameters = where(self.conditions)
        found = self.rows.all(
            f"SELECT t.{number}, length(t.search_text) FROM {index} JOIN {name} t ON t.{number} = {index}.rowid "
            f"WHERE {index} MATCH ? AND {condition} ORDER BY {index}.rowid DESC LIMIT {_MOST_HELD}",
            (word, *parameters),
        )
        return [(row[0], row[1]) for row in found]

    def times(self, word: str, numbers: list[int]) -> list[tuple[int, int, int]]:
        """How often those of the rows that have a word have it, and their lengths."""
        index = self.table.index
        found = self.rows.all(
            f"SELECT rowid, length(highlight({index}, 0, char(1), '')) AS marked, length(search_text) AS length "
            f"FROM {index} WHERE {index} MATCH ? AND {_among(numbers)}",
            (word, json.dumps(numbers)),
        )
        return [(row["rowid"], max(row["marked"] - row["length"], 1), row["length"]) for row in found]

    def having(self, match: str, numbers: list[int]) -> set[int]:
        """Which of the rows match."""
        index = self.table.index
        sql = f"SELECT rowid FROM {index} WHERE {index} MATCH ? AND {_among(numbers)}"
        return {row[0] for row in self.rows.all(sql, (match, json.dumps(numbers)))}

    def meeting(self, numbers: list[int]) -> set[int]:
        """Which of the rows meet the conditions."""
        name, number = self.table.name, f"t.{self.table.number}"
        condition, parameters = where(self.conditions)
        sql = f"SELECT {number} FROM {name} t WHERE {number} IN (SELECT value FROM json_each(?)) AND {condition}"
        return {row[0] for row in self.rows.all(sql, (json.dumps(numbers), *parameters))}

    def _columns(self) -> str:
        table = self.table
        return (
            f"t.{table.number} AS number, t.id AS id, {table.moment} AS moment, t.audience AS audience, "
            f"t.trust AS trust, {table.columns}"
        )


def _among(numbers: list[int]) -> str:
    """A condition on the row number. FTS5 looks a few up one by one; of many it is ten times faster to see all."""
    return f"{'' if len(numbers) <= _FEW else '+'}rowid IN (SELECT value FROM json_each(?))"
