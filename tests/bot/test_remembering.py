"""Taking one writer's changes back while others write: what came meanwhile is seen, and stays."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bot.policy import Approver, People
from bot.remembering import Asking, Remembering
from memory import blocks
from memory.agents import Agent, seed_agent
from memory.audience import OWNER, PUBLIC, Scope, Trust
from memory.blocks import Author, NewBlock
from memory.changes import SYSTEM, agent_writer, job_writer
from memory.constellation import Constellations
from memory.database import Rows, Tx
from memory.faults import commit_point
from memory.ids import AgentId
from sources.terminal import PERSON
from tests.bot.parts import NOON, MovableClock

T = TypeVar("T")
SETUP = commit_point("test_remembering.setup")
STAR, JOB = AgentId("agt_star"), job_writer("sleeptime")
ASKING = Asking(Approver(PERSON), Scope(OWNER), Trust.OWNER)


def write(tx: Tx, text: str, *, job: bool = False) -> None:
    author = Author(STAR, Scope(PUBLIC), JOB if job else agent_writer(STAR), Trust.AGENT, NOON)
    blocks.append_block(tx, author, "notes", text)


@dataclass(frozen=True)
class Interrupted(Remembering):
    """After each look somebody writes, before anything is changed."""

    meanwhile: Callable[[Tx], None] = lambda _tx: None

    async def _read(self, read: Callable[[Rows], T]) -> T:
        found = await super()._read(read)
        async with self.constellations.use(self.house) as database:
            await database.write(SETUP, self.meanwhile)
        return found


async def reverted(folder: Path, meanwhile: Callable[[Tx], None]) -> str:
    async with Constellations.open(folder, MovableClock()) as constellations:
        house = (await constellations.ensure("home", PERSON)).id

        def work(tx: Tx) -> None:
            seed_agent(tx, Agent(STAR, "Star", "", "", "", ()), NOON)
            blocks.create_block(tx, NewBlock(STAR, "notes", "Notes.", PUBLIC, Trust.AGENT), SYSTEM, NOON)
            write(tx, "one\n")
            write(tx, "the job's\n", job=True)

        async with constellations.use(house) as database:
            await database.write(SETUP, work)
        remembering = Interrupted(constellations, house, People((PERSON,)), MovableClock(), meanwhile=meanwhile)
        return str((await remembering.revert(ASKING, "notes", JOB, ""))["text"])


async def test_what_others_write_while_the_past_is_replayed_stays(tmp_path: Path) -> None:
    assert await reverted(tmp_path, lambda tx: write(tx, "two\n")) == "one\ntwo\n"


async def test_what_that_writer_writes_meanwhile_goes_as_well(tmp_path: Path) -> None:
    assert await reverted(tmp_path, lambda tx: write(tx, "more of the job's\n", job=True)) == "one\n"


async def test_undisturbed_the_past_is_replayed_once(tmp_path: Path) -> None:
    assert await reverted(tmp_path, lambda _tx: None) == "one\n"
