"""What the writer remembers between transactions, and when it forgets it."""

from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.migrations import Kind, prepare
from memory.store.sqlite import connect

_CHANGE = commit_point("test_read_cache.change")
_PLACE = "INSERT INTO places (id, source, kind, audience, heard_at) VALUES ('a:1', 'a', 'direct', 'owner', '')"
_NEW = "INSERT INTO agent_groups (id, name, pattern_type, created_at, updated_at) VALUES ('g', 'Desk', 'x', '', '')"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    prepare(tmp_path / "carina.db", Kind.CONSTELLATION)
    async with Database.open(tmp_path / "carina.db") as opened:
        yield opened


class Reads:
    """Reads the names of groups and places, and counts how often the file was asked."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, rows: Rows) -> list[str]:
        def read() -> list[str]:
            self.count += 1
            return [name for (name,) in rows.all("SELECT name FROM agent_groups UNION ALL SELECT name FROM places")]

        return rows.cached(("agent_groups", "places"), "names", read)


async def test_a_read_is_remembered_until_one_of_its_tables_changes(database: Database) -> None:
    reads = Reads()

    def add(tx: Tx) -> list[str]:
        assert reads(tx) == []
        tx.run(_NEW)
        return reads(tx)

    assert await database.write(_CHANGE, reads) == await database.write(_CHANGE, reads) == []
    assert reads.count == 1
    assert await database.write(_CHANGE, add) == ["Desk"]
    assert await database.write(_CHANGE, reads) == ["Desk"]
    assert reads.count == 2
    await database.write(_CHANGE, lambda tx: tx.run(_PLACE))
    assert await database.write(_CHANGE, reads) == ["Desk", ""]
    await database.write(_CHANGE, lambda tx: tx.run("UPDATE places SET heard_at = 'later'"))
    assert await database.write(_CHANGE, reads) == ["Desk", ""]
    assert reads.count == 3, "each message changes when its place was heard"
    await database.write(_CHANGE, lambda tx: tx.run("UPDATE places SET name = 'here'"))
    assert await database.write(_CHANGE, reads) == ["Desk", "here"]
    await database.write(_CHANGE, lambda tx: tx.run("DELETE FROM places"))
    assert await database.write(_CHANGE, reads) == ["Desk"]


async def test_what_another_program_changes_is_seen(database: Database) -> None:
    reads = Reads()
    assert await database.write(_CHANGE, reads) == []
    with closing(connect(database.path)) as other:
        other.execute(_NEW)
    assert await database.write(_CHANGE, reads) == ["Desk"]


async def test_what_was_rolled_back_is_not_remembered(database: Database) -> None:
    reads = Reads()

    def fail(tx: Tx) -> None:
        tx.run(_NEW)
        assert reads(tx) == ["Desk"]
        raise ValueError("undone")

    with pytest.raises(ValueError, match="undone"):
        await database.write(_CHANGE, fail)
    assert await database.write(_CHANGE, reads) == []


async def test_there_is_nothing_to_look_for_in_an_empty_table(database: Database) -> None:
    def known(rows: Rows) -> bool:
        return rows.may_have("agent_groups", "name = 'Desk'")

    assert not await database.write(_CHANGE, known)
    await database.write(_CHANGE, lambda tx: tx.run(_NEW))
    assert await database.write(_CHANGE, known)
    assert await database.read(lambda rows: rows.may_have("agent_groups", "name = 'Shop'")), "readers remember nothing"
