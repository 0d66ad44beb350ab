"""The registry of constellations: which file is open when, and whose a place is."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.knowledge import items
from memory.knowledge.items import Item
from memory.knowledge.items import Kind as ItemKind
from memory.people.audience import Trust
from memory.store.constellations import Constellation, Constellations
from memory.store.database import Tx
from memory.store.errors import DatabaseCorrupt, DatabaseOutdated
from memory.store.faults import commit_point
from memory.store.ids import ConstellationId, PersonId
from tests.memory.parts import GUILD

NOTE = commit_point("test_constellation.note")
OWNER = PersonId("terminal:owner")
NOW = datetime(2026, 11, 22, tzinfo=UTC)


def clock() -> datetime:
    return NOW


@pytest.fixture
async def homes(tmp_path: Path) -> AsyncIterator[Constellations]:
    async with Constellations.open(tmp_path, clock) as opened:
        yield opened


def writers() -> int:
    """How many constellation files are open: each has one task that writes."""
    return sum(task.get_name() == "writer of carina.db" for task in asyncio.all_tasks())


async def made(homes: Constellations, count: int) -> list[Constellation]:
    return [await homes.ensure(f"home {number}", OWNER) for number in range(count)]


async def test_a_constellation_is_made_once_and_found_again_at_the_next_start(tmp_path: Path) -> None:
    async with Constellations.open(tmp_path, clock) as homes:
        first = await homes.ensure("home", OWNER)
        assert await homes.ensure("home", OWNER) == first
        await homes.bind("discord:guild:1", first.id, "test")
    async with Constellations.open(tmp_path, clock) as homes:
        assert homes.all() == [first]
        assert homes.named("home") == first
        assert homes.named("elsewhere") is None
        assert homes.of_place(["discord:guild:1"], ConstellationId("other")) == first.id


async def test_memories_without_their_registry_are_not_forgotten_for_a_new_one(tmp_path: Path) -> None:
    async with Constellations.open(tmp_path, clock) as homes:
        await homes.ensure("home", OWNER)
    (tmp_path / "global.db").rename(tmp_path / "lost.db")
    with pytest.raises(DatabaseCorrupt, match="restore it from a backup"):
        async with Constellations.open(tmp_path, clock):
            pass
    assert not (tmp_path / "global.db").exists()
    (tmp_path / "lost.db").rename(tmp_path / "global.db")
    async with Constellations.open(tmp_path, clock) as homes:
        assert [each.name for each in homes.all()] == ["home"]


async def test_files_opened_and_closed_in_a_crowd_lose_nothing(homes: Constellations) -> None:
    found = await made(homes, 6)

    def count(tx: Tx) -> None:
        tx.run("CREATE TABLE IF NOT EXISTS tally (n INTEGER)")
        tx.insert("tally", {"n": 1})

    async def use(number: int) -> None:
        async with homes.use(found[number % 6].id) as database:
            await database.write(NOTE, count)

    await asyncio.gather(*(use(number * 7 % 60) for number in range(60)))
    assert writers() == 0
    for each in found:
        async with homes.use(each.id) as database:
            assert await database.read(lambda rows: len(rows.all("SELECT n FROM tally"))) == 10


async def test_with_a_clock_that_is_behind_a_summary_is_still_newer_than_the_one_before(
    homes: Constellations, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home,) = await made(homes, 1)
    before = Item(ItemKind.CONVERSATION, GUILD, Trust.OWNER, NOW, NOW)
    async with homes.use(home.id) as database:
        await database.write(NOTE, lambda tx: items.put(tx, before))
    monkeypatch.setattr("memory.store.ids.time.time_ns", lambda: 0)
    monkeypatch.setattr("memory.store.ids.snowflakes._last_ms", 0)
    async with homes.use(home.id):
        assert Item(ItemKind.CONVERSATION, GUILD, Trust.OWNER, NOW, NOW).id > before.id


async def test_a_registered_file_that_is_missing_is_refused_and_not_made_anew(homes: Constellations) -> None:
    (home,) = await made(homes, 1)
    home.path.unlink()
    with pytest.raises(DatabaseCorrupt, match="is missing or empty: restore it from a backup"):
        async with homes.use(home.id):
            pass
    assert not home.path.exists()


async def test_an_older_constellation_is_refused_when_it_is_opened(homes: Constellations) -> None:
    (home,) = await made(homes, 1)
    async with homes.use(home.id) as database:
        await database.maintain(lambda raw: raw.execute("PRAGMA user_version=0").fetchall())
    await made(homes, 4)
    homes_again = Constellations.open(home.path.parents[2], clock)
    async with homes_again as fresh:
        with pytest.raises(DatabaseOutdated, match="carina db migrate"):
            async with fresh.use(home.id):
                pass


async def test_a_place_belongs_to_the_narrowest_binding_that_is_known(homes: Constellations) -> None:
    home, work = await made(homes, 2)
    await homes.bind("discord:guild:1", home.id, "test")
    await homes.bind("discord:10", work.id, "test")
    assert homes.of_place(["discord:11", "discord:10", "discord:guild:1"], home.id) == work.id
    assert homes.of_place(["discord:12", "discord:guild:1"], work.id) == home.id
    assert homes.of_place(["discord:13", "discord:guild:2"], work.id) == work.id
    assert homes.of_place([], home.id) == home.id
    await homes.bind("discord:10", home.id, "test")  # bound anew: the last word counts
    assert homes.of_place(["discord:10"], work.id) == home.id
