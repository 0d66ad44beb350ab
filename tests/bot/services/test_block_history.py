"""Undo, rollback and revert as the owner's commands, also of a damaged block."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bot.errors import CallError, UserError
from bot.services.caller import Caller, owner_at_terminal
from bot.services.memory.blocks import Blocks
from memory import blocks
from memory.blocks import Author, NewBlock
from memory.blocks.changes import SYSTEM, Writer, agent_writer, person_writer
from memory.blocks.schemas import Field, FieldType, ListSchema, MapSchema
from memory.people.audience import OWNER, PUBLIC, Scope, Trust
from memory.store.database import Database, Tx
from memory.store.records import replace
from sources.terminal import PERSON
from tests.bot.parts import BOB, HALL, NOON, OLGA, MovableClock, ScriptedModel, call, deleted, said, says
from tests.bot.services.calling import ADA, PEOPLE, SETUP, registry, somebody
from tests.bot.services.test_why import Answers, curious
from tests.bot.stage import Setting, talked

JOB = Writer("job:sleeptime")


def write(tx: Tx, text: str, *, job: bool = False) -> None:
    author = Author(ADA.id, Scope(PUBLIC), JOB if job else agent_writer(ADA.id), Trust.AGENT, NOON)
    blocks.append_block(tx, author, "notes", text)


class Memory:
    """Calls of the owner, with their results as data."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._registry = registry(Blocks(database, PEOPLE, MovableClock(), "Asia/Tokyo"))

    async def having(self, setup: Callable[[Tx], None]) -> None:
        await self.database.write(SETUP, setup)

    async def __call__(self, name: str, label: str = "", **given: Any) -> Any:
        named = {"label": label} if label else {}
        return (await self._registry.call(f"memory.{name}", owner_at_terminal(), {**named, **given})).data()


@pytest.fixture
def memory(database: Database) -> Memory:
    return Memory(database)


def a_text(tx: Tx) -> None:
    blocks.create_block(tx, NewBlock(ADA.id, "notes", "Notes.", PUBLIC, Trust.AGENT), SYSTEM, NOON)
    write(tx, "one\n")
    write(tx, "the job's\n", job=True)


async def test_who_is_asked_to_lose_nothing_is_named_as_people_name_them(memory: Memory) -> None:
    await memory.having(a_text)
    with pytest.raises(UserError, match=r"^Ada has changed nothing here since version 1"):
        await memory("revert", "notes", writer="Ada", since="2")
    with pytest.raises(CallError, match=r"^Use --since or --only, not both\.$"):
        await memory("revert", "notes", writer="Ada", since="2", only=1)
    noon = NOON.astimezone(ZoneInfo("Asia/Tokyo")).replace(tzinfo=None)
    with pytest.raises(UserError, match=r"^Ada has changed nothing here since version 2"):
        await memory("revert", "notes", writer="Ada", since=str(noon + timedelta(minutes=1)))
    await memory("revert", "notes", writer="Ada", since=str(noon - timedelta(minutes=1)))
    with pytest.raises(UserError, match=r"^None of what Ada changed is left"):
        await memory("revert", "notes", writer="Ada")


STATE = MapSchema(fields=(Field(name="mood"), Field(name="talks", type=FieldType.COUNTER)))


def of_the_owner(tx: Tx, field: str, value: object) -> None:
    author = Author(ADA.id, Scope(PUBLIC), person_writer(PERSON), Trust.OWNER, NOON)
    blocks.set_field(tx, author, "notes", field, value)


def parts(tx: Tx) -> None:
    block = NewBlock(ADA.id, "notes", "Notes.", PUBLIC, Trust.AGENT, schema=STATE)
    blocks.create_block(tx, block, SYSTEM, NOON)
    of_the_owner(tx, "mood", "low")
    of_the_owner(tx, "talks", 3)


async def test_a_change_is_undone_and_an_older_version_restored(memory: Memory) -> None:
    await memory.having(parts)
    assert (await memory("undo", "notes"))["text"] == "mood: low\ntalks: 0\n"
    done = await memory("rollback", "notes", version=3)
    assert (done["text"], done["version"]) == ("mood: low\ntalks: 3\n", 5)
    assert [each["state"] for each in await memory("verify")] == ["sound"]


def damage(tx: Tx) -> None:
    """Nothing of the stored document can be read."""
    tx.run("UPDATE memory_block_updates SET update_blob = zeroblob(20)")


async def test_a_wholly_damaged_block_is_edited_by_hand_and_its_past_says_what_mends_it(memory: Memory) -> None:
    await memory.having(a_text)
    await memory.having(damage)
    seen = (await memory("show", "notes"))["newest"]
    for look in ("history", "blame"):
        with pytest.raises(UserError, match=r"update 1 does not match its checksum.*memory verify --repair"):
            await memory(look, "notes")
    edited = await memory("edit", "notes", text="one\nall the job's\n", seen=seen)
    assert (edited["text"], edited["merged"]) == ("one\nall the job's\n", False)
    assert [each["state"] for each in await memory("verify")] == ["sound"]
    assert [each["version"] for each in (await memory("history", "notes"))["changes"]] == [seen + 2, seen + 1]


async def test_a_block_that_is_one_list_opens_with_an_item_on_each_line_and_is_written_so(memory: Memory) -> None:
    def a_list(tx: Tx) -> None:
        block = NewBlock(
            ADA.id, "notes", "Notes.", PUBLIC, Trust.AGENT, schema=ListSchema(), values={"items": ["a", "b"]}
        )
        blocks.create_block(tx, block, SYSTEM, NOON)

    def meanwhile(tx: Tx) -> None:
        author = Author(ADA.id, Scope(PUBLIC), agent_writer(ADA.id), Trust.AGENT, NOON)
        blocks.add_item(tx, author, "notes", "", "c")

    await memory.having(a_list)
    row = await memory("form", "notes")
    assert (row["text"], row["version"]) == ("a\nb", 1)
    await memory.having(meanwhile)
    done = await memory("edit", "notes", text="A\nb", seen=row["version"])
    assert (done["text"], done["merged"]) == ("1. A\n2. b\n3. c\n", True)


async def test_a_form_is_for_the_block_that_it_was_opened_for(memory: Memory) -> None:
    def setup(tx: Tx) -> None:
        blocks.create_block(tx, NewBlock(ADA.id, "notes", "Notes.", PUBLIC, Trust.AGENT, content="one"), SYSTEM, NOON)

    def another(tx: Tx) -> None:
        blocks.create_block(tx, NewBlock(ADA.id, "notes", "Notes.", OWNER, Trust.AGENT, content="two"), SYSTEM, NOON)

    await memory.having(setup)
    row = await memory("form", "notes")
    await memory.having(another)
    with pytest.raises(UserError, match="Several blocks are called “notes”"):
        await memory("edit", "notes", text="mine", seen=row["version"])
    done = await memory("edit", row["id"], text="mine", seen=row["version"])
    assert (done["text"], done["block"]) == ("mine", "notes in all places")
    with pytest.raises(UserError, match="There is no block “blk_0”"):
        await memory("edit", "blk_0", text="mine")


async def test_of_two_names_that_differ_in_case_the_one_as_typed_is_meant(memory: Memory) -> None:
    def setup(tx: Tx) -> None:
        for label in ("notes", "Notes"):
            blocks.create_block(tx, NewBlock(ADA.id, label, "Notes.", PUBLIC, Trust.AGENT, content=label), SYSTEM, NOON)

    await memory.having(setup)
    for label in ("notes", "Notes"):
        assert (await memory("form", label))["text"] == label
    with pytest.raises(UserError, match="Several blocks are called “NOTES”"):
        await memory("form", "NOTES")


@pytest.mark.parametrize("narrowed", ["", "message", "entry"])
async def test_withdrawn_words_are_in_the_history_for_the_owner_alone(tmp_path: Path, narrowed: str) -> None:
    kept = call("context", operation="append", label="scratchpad", content="Ann loves quetzals.")
    more = call("context", "later", operation="append", label="scratchpad", content="Bob has a boat.")
    stored = call("recall", operation="insert", content="Ann loves quetzals.")
    model = ScriptedModel(says("", kept, stored), says("Noted."), says("", more), says("Noted."))
    async with talked(tmp_path, Setting(model=model), "I love quetzals") as service:
        if narrowed:
            sql = "SELECT id FROM messages WHERE content = 'I love quetzals'"
            (identifier,) = await service.column(sql if narrowed == "message" else "SELECT id FROM archival_entries")
            await Answers(service).told("narrow", curious(), str(identifier), kind=narrowed)
        else:
            await service.heard(deleted(1))
        await service.heard(said("I have a boat", 2, speaker=BOB))
        people = service.approvals.people
        asked = registry(Blocks(service.database, people, service.clock, "UTC"), people=people)
        bob = replace(somebody(BOB.id), scope=Scope(HALL.audience))

        async def shown(caller: Caller, operation: str, **given: Any) -> str:
            return str((await asked.call(f"memory.{operation}", caller, {"label": "scratchpad", **given})).data())

        olga = replace(somebody(OLGA.id), scope=Scope(OWNER))
        assert "quetzals" in await shown(olga, "history")
        assert "quetzals" in await shown(olga, "show", version=1)
        history = await shown(bob, "history")
        assert "Bob has a boat." in history
        assert "versions 2 to 3" in history
        assert "quetzals" not in history
        assert "Bob has a boat." in await shown(bob, "diff", older=2)
        for operation, given in (("show", {"version": 1}), ("diff", {"older": 1})):
            with pytest.raises(UserError, match="There is no version 1"):
                await shown(bob, operation, **given)
