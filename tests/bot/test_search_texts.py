"""Whatever somebody looks for is words: of quotes, operators, 20,000 words, NUL, halves of characters, any script."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.desks.archive import Archive
from bot.desks.searching import Searching
from bot.policy import People
from memory.agents import Agent, seed_agent
from memory.constellation import Constellations
from memory.faults import commit_point
from memory.ids import AgentId
from sources.terminal import PERSON
from tests.bot.parts import NOON, MovableClock

SETUP = commit_point("test_search_texts.setup")
STORK, CRANE, FLAMINGO = "The stork is back.", "鶴が湖に戻ってきました", "A flamingo 🦩 on the lawn"
MANY = " ".join(f"word{number}" for number in range(20_000))


@asynccontextmanager
async def archive(folder: Path) -> AsyncIterator[Searching]:
    async with Constellations.open(folder, MovableClock()) as constellations:
        house = (await constellations.ensure("home", PERSON)).id
        star = Agent(AgentId("agt_star"), "Star", "", "", "", ())
        async with constellations.use(house) as database:
            await database.write(SETUP, lambda tx: seed_agent(tx, star, NOON))
        store = constellations, house, People((PERSON,)), MovableClock()
        for text in (STORK, CRANE, FLAMINGO):
            await Archive(*store).owner_add(text)
        yield Searching(*store)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('"', []),
        ('"stork', [STORK]),
        ('stork" OR "lawn', [STORK, FLAMINGO]),
        ("AND OR NOT", []),
        ("stork NOT back", [STORK]),
        ("NEAR(stork lawn, 2)", [STORK, FLAMINGO]),
        ("search_text:stork", [STORK]),
        ("stork*) OR (1=1 --", [STORK]),
        ("^stork", [STORK]),
        (f"stork {MANY}", [STORK]),
        (MANY, []),
        ("sto\x00rk", [STORK]),
        ("stork\ud800", [STORK]),
        ("\ud83d", []),
        ("鶴", [CRANE]),
        ("湖に", [CRANE]),
        ("🦩", [FLAMINGO]),
        ("🦩🦚", []),
        ("🦩 flamingo", [FLAMINGO]),
        ("", [FLAMINGO, CRANE, STORK]),
        ("   \n", [FLAMINGO, CRANE, STORK]),
    ],
)
async def test_it_finds_what_has_the_words_and_nothing_else(tmp_path: Path, text: str, wanted: list[str]) -> None:
    async with archive(tmp_path) as looking:
        found = [hit["text"] for hit in (await looking.owner_search(text))["hits"]]
        assert sorted(found) == sorted(wanted)
        assert [hit["text"] for hit in (await looking.owner_search("stork"))["hits"]] == [STORK], "and it goes on"
