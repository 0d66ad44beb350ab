"""What the writer remembers between transactions, and when it forgets it."""

from collections.abc import AsyncIterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.people.audience import PUBLIC, Scope, guild_audience
from memory.queue import messages
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import GuildId, PlaceId
from memory.store.migrations import Kind, prepare
from memory.store.read_cache import ReadCache
from memory.store.sqlite import connect, transaction
from tests.memory.parts import store

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


_GUILD = guild_audience(GuildId("a:7"))
_CHANGES = {
    "hear": """INSERT INTO messages (id, place_id, role, content, source, audience, trust, created_at)
        VALUES (:id, :place, 'user', 'word', 'a', 'guild:a:7', 1, '2026-11-26T12:00:00.000Z')""",
    "hear before": """INSERT OR IGNORE INTO messages (id, place_id, role, content, source, audience, trust, created_at)
        VALUES (:which, :place, 'user', 'word', 'a', 'guild:a:7', 1, '2026-11-26T12:00:00.000Z')""",
    "ask": """INSERT INTO inbox (id, source, external_id, kind, place_id, message_id, payload, audience, status,
          received_at) VALUES (:id, 'a', :id, 'message', :place, :which, '{}', 'guild:a:7', 'received', '')""",
    "ask about": "UPDATE inbox SET message_id = :which WHERE id = (SELECT max(id) FROM inbox)",
    "finish": "UPDATE inbox SET status = iif(status = 'done', 'claimed', 'done') WHERE message_id = :which",
    "drop": "DELETE FROM inbox WHERE message_id = :which",
    "edit": "UPDATE messages SET content = content || ' more', revision = revision + 1 WHERE id = :which",
    "join": "UPDATE messages SET batch_id = :id WHERE id = :which",
    "narrow": "UPDATE messages SET audience = iif(audience = 'public', 'owner', 'public') WHERE id = :which",
    "archive": "UPDATE messages SET is_archived = 1 - is_archived WHERE id = :which",
    "move": "UPDATE messages SET place_id = iif(place_id = 'a:1', 'a:2', 'a:1') WHERE id = :which",
    "delete": "DELETE FROM messages WHERE id = :which",
}
_PLACES = ("a:1", "a:2")
_change = st.tuples(st.sampled_from([*_CHANGES]), st.integers(1, 6), st.sampled_from(_PLACES), st.booleans())


@settings(max_examples=80)
@given(st.lists(_change, min_size=20, max_size=40), st.sampled_from([Scope(PUBLIC), Scope(_GUILD)]), st.integers(1, 5))
def test_a_remembered_conversation_is_what_the_file_has(
    changes: list[tuple[str, int, str, bool]], scope: Scope, most: int
) -> None:
    plain, cache = store(), ReadCache()
    raw = plain._raw
    raw.execute("PRAGMA foreign_keys=OFF")
    cache.watch(raw)

    def change(what: str, number: int, which: int, place: str) -> None:
        plain.run(_CHANGES[what], {"id": number, "which": which, "place": place})
        limit = most + (number % 6 == 0)
        for there in map(PlaceId, _PLACES):
            read = messages.conversation(Tx(raw, cache), there, scope, limit, finished=True)
            assert [*read] == [*messages.conversation(plain, there, scope, limit, finished=True)]

    with closing(raw):
        for number in (1, 2, 4, 5):
            change("hear", number, number, _PLACES[number % 2])
            change("ask", number, number, _PLACES[number % 2])
            change("finish", number, number, "")
        change("ask", 8, 2, _PLACES[0])
        change("drop", 8, 2, "")
        for number, (what, which, place, fails) in enumerate(changes, 10):
            with suppress(ZeroDivisionError), cache.transaction(), transaction(raw):
                change(what, number, which, place)
                if fails:
                    raise ZeroDivisionError
