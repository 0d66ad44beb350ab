"""Going back and taking changes back while others write: what came meanwhile is seen, and stays."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

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
from memory.store.database import Database, Rows, Tx
from memory.store.faults import Point, commit_point
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


@dataclass(frozen=True)
class Interrupted:
    """A database in which after each look somebody writes, before anything is changed."""

    database: Database
    meanwhile: Callable[[Tx], None]

    async def read(self, read: Callable[[Rows], T]) -> T:
        found = await self.database.read(read)
        await self.database.write(SETUP, self.meanwhile)
        return found

    async def write(self, point: Point, work: Callable[[Tx], T], *, durable: bool = False) -> T:
        return await self.database.write(point, work, durable=durable)


class Memory:
    """Calls of the owner, with their results as data."""

    def __init__(self, database: Database, meanwhile: Callable[[Tx], None]) -> None:
        self.database = database
        looking = cast("Database", Interrupted(database, meanwhile))
        self._registry = registry(Blocks(looking, People((PERSON,)), MovableClock()))

    async def __call__(self, name: str, label: str = "", **given: Any) -> Any:
        named = {"label": label} if label else {}
        return (await self._registry.call(f"memory.{name}", owner_at_terminal(), {**named, **given})).data()


@asynccontextmanager
async def interrupted(
    folder: Path, setup: Callable[[Tx], None], meanwhile: Callable[[Tx], None]
) -> AsyncIterator[Memory]:
    async with Constellations.open(folder, MovableClock()) as constellations:
        constellation = (await constellations.ensure("home", PERSON)).id

        def work(tx: Tx) -> None:
            seed_agent(tx, Agent(STAR, "Star", "", "", "", ()), NOON)
            setup(tx)

        async with constellations.use(constellation) as database:
            await database.write(SETUP, work)
            yield Memory(database, meanwhile)


def a_text(tx: Tx) -> None:
    blocks.create_block(tx, NewBlock(STAR, "notes", "Notes.", PUBLIC, Trust.AGENT), SYSTEM, NOON)
    write(tx, "one\n")
    write(tx, "the job's\n", job=True)


async def reverted(folder: Path, meanwhile: Callable[[Tx], None]) -> str:
    async with interrupted(folder, a_text, meanwhile) as memory:
        return str((await memory("revert", "notes", writer=JOB))["text"])


async def test_what_others_write_while_the_past_is_replayed_stays(tmp_path: Path) -> None:
    assert await reverted(tmp_path, lambda tx: write(tx, "two\n")) == "one\ntwo\n"


async def test_what_that_writer_writes_meanwhile_goes_as_well(tmp_path: Path) -> None:
    assert await reverted(tmp_path, lambda tx: write(tx, "more of the job's\n", job=True)) == "one\n"


async def test_who_is_asked_to_lose_nothing_is_named_as_people_name_them(tmp_path: Path) -> None:
    async with interrupted(tmp_path, a_text, lambda _tx: None) as memory:
        with pytest.raises(UserError, match=r"^Star has changed nothing here since version 1"):
            await memory("revert", "notes", writer="Star", since="2")
        with pytest.raises(CallError, match="--since and --only: use one of them"):
            await memory("revert", "notes", writer="Star", since="2", only=1)
        await memory("revert", "notes", writer="Star")
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


def an_agents(tx: Tx) -> None:
    author = Author(STAR, Scope(PUBLIC), agent_writer(STAR), Trust.AGENT, NOON)
    blocks.set_field(tx, author, "notes", "mood", "high")


def an_earlier_line(tx: Tx) -> None:
    author = Author(STAR, Scope(PUBLIC), agent_writer(STAR), Trust.AGENT, NOON)
    blocks.replace_in_block(tx, author, "notes", "one\n", "zero\none\n")


def owners_text(tx: Tx) -> None:
    a_text(tx)
    author = Author(STAR, Scope(PUBLIC), person_writer(PERSON), Trust.OWNER, NOON)
    blocks.append_block(tx, author, "notes", "the owner's\n")


@pytest.mark.parametrize(
    ("setup", "meanwhile", "text"),
    [
        (owners_text, an_earlier_line, "zero\none\nthe job's\n"),
        (parts, an_agents, "mood: high\ntalks: 0\n"),
    ],
)
async def test_what_others_write_while_an_undo_is_thought_out_stays(
    tmp_path: Path, setup: Callable[[Tx], None], meanwhile: Callable[[Tx], None], text: str
) -> None:
    async with interrupted(tmp_path, setup, meanwhile) as memory:
        assert (await memory("undo", "notes"))["text"] == text
        assert [each["state"] for each in await memory("verify")] == ["sound"]


@pytest.mark.parametrize(
    ("setup", "meanwhile", "version", "text", "later"),
    [
        (owners_text, lambda tx: write(tx, "two\n"), 1, "one\n", "one\nthe job's\nthe owner's\ntwo\n"),
        (parts, an_agents, 2, "mood: low\ntalks: 0\n", "mood: high\ntalks: 3\n"),
    ],
)
async def test_what_others_write_while_going_back_is_thought_out_can_be_gone_back_to(
    tmp_path: Path, setup: Callable[[Tx], None], meanwhile: Callable[[Tx], None], version: int, text: str, later: str
) -> None:
    async with interrupted(tmp_path, setup, meanwhile) as memory:
        done = await memory("rollback", "notes", version=version)
        assert (done["text"], done["version"]) == (text, 5)
    async with Constellations.open(tmp_path, MovableClock()) as constellations:
        constellation = (await constellations.ensure("home", PERSON)).id
        async with constellations.use(constellation) as database:
            undisturbed = Memory(database, lambda _tx: None)
            assert (await undisturbed("show", "notes", version=4))["text"] == later
            assert (await undisturbed("rollback", "notes", version=4))["text"] == later
            assert [each["state"] for each in await undisturbed("verify")] == ["sound"]


def damage(tx: Tx) -> None:
    """Nothing of the stored document can be read."""
    tx.run("UPDATE memory_block_updates SET update_blob = zeroblob(20)")


async def test_a_wholly_damaged_block_is_edited_by_hand_and_its_past_says_what_mends_it(tmp_path: Path) -> None:
    async with interrupted(tmp_path, a_text, lambda _tx: None) as memory:
        await memory.database.write(SETUP, damage)
        seen = (await memory("show", "notes"))["newest"]
        for look in ("history", "blame", "undo"):
            with pytest.raises(UserError, match=r"update 1 does not match its checksum.*memory verify --repair"):
                await memory(look, "notes")
        edited = await memory("edit", "notes", text="one\nall the job's\n", seen=seen)
        assert (edited["text"], edited["merged"]) == ("one\nall the job's\n", False)
        assert [each["state"] for each in await memory("verify")] == ["sound"]
        assert [each["version"] for each in (await memory("history", "notes"))["changes"]] == [
            seen + 2,
            seen + 1,
        ]


async def test_a_block_that_is_one_list_opens_with_an_item_on_each_line_and_is_written_so(tmp_path: Path) -> None:
    def a_list(tx: Tx) -> None:
        block = NewBlock(
            STAR, "notes", "Notes.", PUBLIC, Trust.AGENT, schema=ListSchema(), values={"items": ["a", "b"]}
        )
        blocks.create_block(tx, block, SYSTEM, NOON)

    def meanwhile(tx: Tx) -> None:
        author = Author(STAR, Scope(PUBLIC), agent_writer(STAR), Trust.AGENT, NOON)
        blocks.add_item(tx, author, "notes", "", "c")

    async with interrupted(tmp_path, a_list, meanwhile) as memory:
        row = await memory("form", "notes")
        assert (row["text"], row["version"]) == ("a\nb", 1)
        done = await memory("edit", "notes", text="A\nb", seen=row["version"])
    assert (done["text"], done["merged"]) == ("1. A\n2. b\n3. c\n", True)


async def test_a_form_is_for_the_block_that_it_was_opened_for(tmp_path: Path) -> None:
    def setup(tx: Tx) -> None:
        blocks.create_block(tx, NewBlock(STAR, "notes", "Notes.", PUBLIC, Trust.AGENT, content="one"), SYSTEM, NOON)

    opened: list[str] = []

    def another(tx: Tx) -> None:
        if len(opened) == 1:
            opened.append("another")
            blocks.create_block(tx, NewBlock(STAR, "notes", "Notes.", OWNER, Trust.AGENT, content="two"), SYSTEM, NOON)

    async with interrupted(tmp_path, setup, another) as memory:
        row = await memory("form", "notes")
        opened.append("form")
        await memory("show", "notes")
        with pytest.raises(UserError, match="Several blocks are called 'notes'"):
            await memory("edit", "notes", text="mine", seen=row["version"])
        done = await memory("write", row["id"], text="mine", seen=row["version"])
        assert (done["text"], done["block"]) == ("mine", "notes in all places")
        with pytest.raises(UserError, match="There is no block 'blk_0'"):
            await memory("edit", "blk_0", text="mine")
