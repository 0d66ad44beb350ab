"""Methods that are one transaction each."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.services.transactions import Announcing, reads, writes
from memory.store.database import Database, Rows, Tx
from memory.store.errors import Refused
from memory.store.faults import commit_point
from memory.store.sqlite import connect

_POINT = commit_point("test_transactions.write")


@dataclass(frozen=True)
class Numbers(Announcing):
    database: Database
    announced: list[int] = field(default_factory=list)

    def announce(self) -> None:
        self.announced.append(len(self.announced))

    @writes(_POINT)
    def add(self, tx: Tx, number: int, *, refused: bool = False) -> int:
        tx.run("INSERT INTO numbers VALUES (?)", (number,))
        if refused:
            raise Refused("no")
        return number

    @reads
    def count(self, rows: Rows) -> int:
        return rows.number("SELECT count(*) FROM numbers")


async def test_what_a_method_writes_is_there_as_a_whole_or_not_at_all_and_is_announced(tmp_path: Path) -> None:
    connect(tmp_path / "numbers.db").execute("CREATE TABLE numbers (n INTEGER)")
    async with Database.open(tmp_path / "numbers.db") as database:
        numbers = Numbers(database)
        assert await numbers.add(7) == 7
        with pytest.raises(Refused):
            await numbers.add(8, refused=True)
        assert (await numbers.count(), numbers.announced) == (1, [0])
