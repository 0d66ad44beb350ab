"""Whatever somebody looks for is words: of quotes, operators, 20,000 words, NUL, halves of characters, any script."""

import pytest

from bot.services.agents.task_lists import TaskLists
from bot.services.caller import owner_at_terminal
from bot.services.memory.archive import Archive
from bot.services.memory.search import SearchResults
from bot.services.registry import Registry
from bot.services.results import Plain
from memory.store.database import Database
from tests.bot.parts import BOB, NOON, MovableClock, said
from tests.bot.plain import search
from tests.bot.services.calling import PEOPLE, registry
from tests.bot.services.test_why import curious
from tests.bot.stage import Service

STORK, CRANE, FLAMINGO = "The stork is back.", "鶴が湖に戻ってきました", "A flamingo 🦩 on the lawn"
MANY = " ".join(f"word{number}" for number in range(20_000))


@pytest.fixture
async def made(database: Database) -> Registry:
    store = database, PEOPLE, MovableClock()
    found = registry(Archive(*store), TaskLists(*store, "UTC"), search(*store))
    for text in (STORK, CRANE, FLAMINGO):
        await found.call("archival.add", owner_at_terminal(), {"text": text})
    return found


async def texts(made: Registry, text: str) -> list[str]:
    found = await made.call("search", owner_at_terminal(), {"text": text})
    assert isinstance(found, SearchResults)
    return [hit.text for hit in found.hits]


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
        ("🦩", []),
        ("🦩🦚", []),
        ("🦩 flamingo", [FLAMINGO]),
        ("", [FLAMINGO, CRANE, STORK]),
        ("   \n", [FLAMINGO, CRANE, STORK]),
    ],
)
async def test_it_finds_what_has_the_words_and_nothing_else(made: Registry, text: str, wanted: list[str]) -> None:
    assert sorted(await texts(made, text)) == sorted(wanted)
    assert await texts(made, "stork") == [STORK], "and it goes on"


async def test_a_task_is_found_without_a_domain_and_says_its_state(made: Registry) -> None:
    await made.call("tasks.add", owner_at_terminal(), {"title": "feed the heron"})
    for state, words in (("open", "task, "), ("in_progress", "task in progress, ")):
        await made.call("tasks.change", owner_at_terminal(), {"task": "heron", "state": state})
        found = await made.call("search", owner_at_terminal(), {"text": "heron"})
        assert words in found.terminal(Plain("UTC", NOON))


async def test_only_the_readers_own_messages_are_said_by_you(service: Service) -> None:
    await service.heard(said("the gannet is mine", 1), said("the gannet is ours", 2, speaker=BOB))
    offered = registry(search(service.database, PEOPLE, service.clock))
    found = await offered.call("search", curious(), {"text": "gannet", "role": "user"})
    assert isinstance(found, SearchResults)
    assert {hit.text: hit.who for hit in found.hits} == {"the gannet is mine": "you", "the gannet is ours": "Bob"}
