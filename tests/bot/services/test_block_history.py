"""Undo, rollback and revert as the owner's commands, also of a damaged block."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import pytest

from bot.agents.permissions.policy import People
from bot.errors import CallError, UserError
from bot.services.caller import owner_at_terminal
from bot.services.memory.blocks import Blocks
from memory import blocks
from memory.agents import Agent, seed_agent
from memory.blocks import Author, NewBlock
from memory.blocks.changes import SYSTEM, Writer, agent_writer, person_writer
from memory.blocks.schemas import Field, FieldType, ListSchema, MapSchema
from memory.people.audience import OWNER, PUBLIC, Scope, Trust
from memory.store.constellation import Constellations
from memory.store.database import Database, Tx
from memory.store.faults import commit_point
from memory.store.ids import AgentId
from sources.terminal import PERSON
from tests.bot.parts import NOON, MovableClock
from tests.bot.services.calling import registry

T = TypeVar("T")
SETUP = commit_point("test_blocks.setup")
STAR, JOB = AgentId("agt_star"), Writer("job:sleeptime")


def write(tx: Tx, text: str, *, job: bool = False) -> None:
    author = Author(STAR, Scope(PUBLIC), JOB if job else agent_writer(STAR), Trust.AGENT, NOON)
    blocks.append_block(tx, author, "notes", text)


class Memory:
    """Calls of the owner, with their results as data."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._registry = registry(Blocks(database, People((PERSON,)), MovableClock(), "Asia/Tokyo"))

    async def __call__(self, name: str, label: str = "", **given: Any) -> Any:
        named = {"label": label} if label else {}
        return (await self._registry.call(f"memory.{name}", owner_at_terminal(), {**named, **given})).data()


@asynccontextmanager
async def opened(folder: Path, setup: Callable[[Tx], None]) -> AsyncIterator[Memory]:
    async with Constellations.open(folder, MovableClock()) as constellations:
        constellation = (await constellations.ensure("home", PERSON)).id

        def work(tx: Tx) -> None:
            seed_agent(tx, Agent(STAR, "Star", "", "", "", ()), NOON)
            setup(tx)

        async with constellations.use(constellation) as database:
            await database.write(SETUP, work)
            yield Memory(database)


def a_text(tx: Tx) -> None:
    blocks.create_block(tx, NewBlock(STAR, "notes", "Notes.", PUBLIC, Trust.AGENT), SYSTEM, NOON)
    write(tx, "one\n")
    write(tx, "the job's\n", job=True)


async def test_who_is_asked_to_lose_nothing_is_named_as_people_name_them(tmp_path: Path) -> None:
    async with opened(tmp_path, a_text) as memory:
        with pytest.raises(UserError, match=r"^Star has changed nothing here since version 1"):
            await memory("revert", "notes", writer="Star", since="2")
        with pytest.raises(CallError, match="--since and --only: use one of them"):
            await memory("revert", "notes", writer="Star", since="2", only=1)
        noon = NOON.astimezone(ZoneInfo("Asia/Tokyo")).replace(tzinfo=None)
        with pytest.raises(UserError, match=r"^Star has changed nothing here since version 2"):
            await memory("revert", "notes", writer="Star", since=str(noon + timedelta(minutes=1)))
        await memory("revert", "notes", writer="Star", since=str(noon - timedelta(minutes=1)))
        with pytest.raises(UserError, match=r"^Nothing of what Star changed is left"):
            await memory("revert", "notes", writer="Star")


# ------------------------------------------------------------------------------------- back, and taking a change back


STATE = MapSchema(fields=(Field(name="mood"), Field(name="talks", type=FieldType.COUNTER)))


def of_the_owner(tx: Tx, field: str, value: object) -> None:
    author = Author(STAR, Scope(PUBLIC), person_writer(PERSON), Trust.OWNER, NOON)
    blocks.set_field(tx, author, "notes", field, value)


def parts(tx: Tx) -> None:
    block = NewBlock(STAR, "notes", "Notes.", PUBLIC, Trust.AGENT, schema=STATE)
    blocks.create_block(tx, block, SYSTEM, NOON)
    of_the_owner(tx, "mood", "low")
    of_the_owner(tx, "talks", 3)


async def test_a_change_is_undone_and_an_older_version_restored(tmp_path: Path) -> None:
    async with opened(tmp_path, parts) as memory:
        assert (await memory("undo", "notes"))["text"] == "mood: low\ntalks: 0\n"
        done = await memory("rollback", "notes", version=3)
        assert (done["text"], done["version"]) == ("mood: low\ntalks: 3\n", 5)
        assert [each["state"] for each in await memory("verify")] == ["sound"]


def damage(tx: Tx) -> None:
    """Nothing of the stored document can be read."""
    tx.run("UPDATE memory_block_updates SET update_blob = zeroblob(20)")


async def test_a_wholly_damaged_block_is_edited_by_hand_and_its_past_says_what_mends_it(tmp_path: Path) -> None:
    async with opened(tmp_path, a_text) as memory:
        await memory.database.write(SETUP, damage)
        seen = (await memory("show", "notes"))["newest"]
        for look in ("history", "blame"):
            with pytest.raises(UserError, match=r"update 1 does not match its checksum.*memory verify --repair"):
                await memory(look, "notes")
        edited = await memory("edit", "notes", text="one\nall the job's\n", seen=seen)
        assert (edited["text"], edited["merged"]) == ("one\nall the job's\n", False)
        assert [each["state"] for each in await memory("verify")] == ["sound"]
        assert [each["version"] for each in (await memory("history", "notes"))["changes"]] == [seen + 2, seen + 1]


async def test_a_block_that_is_one_list_opens_with_an_item_on_each_line_and_is_written_so(tmp_path: Path) -> None:
    def a_list(tx: Tx) -> None:
        block = NewBlock(
            STAR, "notes", "Notes.", PUBLIC, Trust.AGENT, schema=ListSchema(), values={"items": ["a", "b"]}
        )
        blocks.create_block(tx, block, SYSTEM, NOON)

    def meanwhile(tx: Tx) -> None:
        author = Author(STAR, Scope(PUBLIC), agent_writer(STAR), Trust.AGENT, NOON)
        blocks.add_item(tx, author, "notes", "", "c")

    async with opened(tmp_path, a_list) as memory:
        row = await memory("form", "notes")
        assert (row["text"], row["version"]) == ("a\nb", 1)
        await memory.database.write(SETUP, meanwhile)
        done = await memory("edit", "notes", text="A\nb", seen=row["version"])
    assert (done["text"], done["merged"]) == ("1. A\n2. b\n3. c\n", True)


async def test_a_form_is_for_the_block_that_it_was_opened_for(tmp_path: Path) -> None:
    def setup(tx: Tx) -> None:
        blocks.create_block(tx, NewBlock(STAR, "notes", "Notes.", PUBLIC, Trust.AGENT, content="one"), SYSTEM, NOON)

    def another(tx: Tx) -> None:
        blocks.create_block(tx, NewBlock(STAR, "notes", "Notes.", OWNER, Trust.AGENT, content="two"), SYSTEM, NOON)

    async with opened(tmp_path, setup) as memory:
        row = await memory("form", "notes")
        await memory.database.write(SETUP, another)
        with pytest.raises(UserError, match="Several blocks are called 'notes'"):
            await memory("edit", "notes", text="mine", seen=row["version"])
        done = await memory("edit", row["id"], text="mine", seen=row["version"])
        assert (done["text"], done["block"]) == ("mine", "notes in all places")
        with pytest.raises(UserError, match="There is no block 'blk_0'"):
            await memory("edit", "blk_0", text="mine")
