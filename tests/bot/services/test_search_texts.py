"""Whatever somebody looks for is words: of quotes, operators, 20,000 words, NUL, halves of characters, any script."""

from datetime import timedelta

import pytest

from bot.models.offline.language import language
from bot.services.caller import owner_at_terminal
from bot.services.memory.archival import Archive
from bot.services.memory.search import SearchResults
from bot.services.people.tasks import TaskLists
from bot.services.registry import Registry
from bot.services.results import Markdown, Plain
from memory.activity import Details, NewEvent, note
from memory.people.audience import OWNER, Trust
from memory.store.database import Database, Tx
from memory.store.records import replace
from tests.bot.parts import ANN, BOB, NOON, MovableClock, call, direct, said, says
from tests.bot.plain import search
from tests.bot.services.calling import PEOPLE, SETUP, registry
from tests.bot.services.test_why import curious
from tests.bot.stage import Service
from texts import gettext_lazy, speaking

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
        ('"', []), ('"stork', [STORK]), ('stork" OR "lawn', [STORK, FLAMINGO]), ("AND OR NOT", []),
        ("stork NOT back", [STORK]), ("NEAR(stork lawn, 2)", [STORK, FLAMINGO]), ("search_text:stork", [STORK]),
        ("stork*) OR (1=1 --", [STORK]), ("^stork", [STORK]), (f"stork {MANY}", [STORK]), (MANY, []), ("鶴", [CRANE]),
        ("湖に", [CRANE]), ("🦩", []), ("🦩🦚", []), ("🦩 flamingo", [FLAMINGO]), ("", [FLAMINGO, CRANE, STORK]),
        ("   \n", [FLAMINGO, CRANE, STORK]),
    ],
)  # fmt: skip
async def test_it_finds_what_has_the_words_and_nothing_else(made: Registry, text: str, wanted: list[str]) -> None:
    assert sorted(await texts(made, text)) == sorted(wanted)
    assert await texts(made, "stork") == [STORK], "and it goes on"


async def test_a_listing_and_filters_that_fit_nothing_are_told_in_the_readers_language(made: Registry) -> None:
    async def shown(**given: str) -> str:
        found = await made.call("search", owner_at_terminal(), given)
        return "\n".join(found.lines(Plain("UTC", NOON)))

    with speaking("de"):
        assert (await shown(text="")).endswith("Das sind die neuesten. Mit Suchwörtern wird gesucht.")
        unmet = await shown(text="stork", domain="tasks", role="user")
        assert unmet == "Nichts wurde durchsucht: Der Filter „role“ passt zu nichts, was du durchsuchen wolltest."


async def test_a_task_is_found_without_a_domain_and_says_its_state(made: Registry) -> None:
    await made.call("tasks.add", owner_at_terminal(), {"title": "feed the heron"})
    for state, words in (("open", "task, "), ("in_progress", "task in progress, ")):
        await made.call("tasks.change", owner_at_terminal(), {"task": "heron", "state": state})
        found = await made.call("search", owner_at_terminal(), {"text": "heron"})
        assert words in found.terminal(Plain("UTC", NOON))


async def test_activity_is_told_in_the_readers_language(made: Registry, database: Database) -> None:
    words = gettext_lazy("let more people see the entry {name}", name="heron")
    event = NewEvent(Details(), words, OWNER, Trust.OWNER)
    await database.write(SETUP, lambda tx: note(tx, event, NOON))
    given = {"text": "heron", "domain": "activity"}
    for code, told in ("en", words), ("de", "hat den Eintrag heron für mehr Leute sichtbar gemacht"):
        with speaking(code):
            found = await made.call("search", owner_at_terminal(), given)
            assert found.terminal(Plain("UTC", NOON)).startswith(told)


async def test_only_the_readers_own_messages_are_said_by_you(service: Service) -> None:
    await service.heard(said("the gannet is mine", 1), said("the gannet is ours", 2, speaker=BOB))
    offered = registry(search(service.database, PEOPLE, service.clock))
    found = await offered.call("search", curious(), {"text": "gannet", "role": "user"})
    assert isinstance(found, SearchResults)
    assert {hit.text: hit.who for hit in found.hits} == {"the gannet is mine": "you", "the gannet is ours": "Bob"}


async def test_a_long_message_is_cut_visibly_and_without_marks_of_bold(service: Service) -> None:
    await service.heard(said(f"**The gannet**: {'word ' * 100}", 1))
    offered = registry(search(service.database, PEOPLE, service.clock))
    found = await offered.call("search", curious(), {"text": "gannet"})
    text, *_more = found.lines(Markdown())
    assert text.startswith("> The gannet: word word ")
    assert text.split("\n")[0].endswith("…")


async def test_direct_messages_are_ours_to_who_reads_of_them(service: Service) -> None:
    place = replace(direct(ANN), name="direct messages with Ann")
    await service.heard(said("the gannet is mine", 1, place))
    offered = registry(search(service.database, PEOPLE, service.clock))
    with speaking("de"):
        found = await offered.call("search", curious(place=place), {"text": "gannet", "role": "user"})
    assert isinstance(found, SearchResults)
    assert [hit.where for hit in found.hits] == ["unsere Direktnachrichten"]


async def test_a_message_and_what_was_learned_from_it_alone_are_one_for_people_and_two_for_programs(
    service: Service,
) -> None:
    keep = call("recall", operation="insert", content="Ann's gannet is called Gus")
    service.model.replies.extend([says("", keep), says("Kept."), says("Hm.")])
    await service.heard(said("my gannet is called Gus", 1, at=NOON - timedelta(days=40)))
    await service.heard(said("what about the gannet", 2, speaker=BOB))
    offered = registry(search(service.database, PEOPLE, service.clock))

    async def found() -> SearchResults:
        results = await offered.call("search", curious(), {"text": "gannet"})
        assert isinstance(results, SearchResults)
        return results

    every = await found()
    assert sorted(hit.text for hit in every.shown) == ["Ann's gannet is called Gus", "what about the gannet"]
    assert {(hit["kind"], hit["text"]) for hit in every.data()["hits"]} == {
        ("entry", "Ann's gannet is called Gus"),
        ("message", "my gannet is called Gus"),
        ("message", "what about the gannet"),
    }
    (entry,) = (hit for hit in every.shown if hit.kind == "entry")
    (message,) = (hit for hit in every.hits if hit.text == "my gannet is called Gus")
    assert (entry.who, entry.where, entry.when) == ("you", message.where, message.when)
    assert "you" in entry.line(Plain("UTC", NOON))
    assert "my gannet" not in every.terminal(Plain("UTC", NOON))

    def merged(tx: Tx) -> None:
        sql = """UPDATE archival_entries SET metadata = json_set(metadata, '$._messages', json_array((
                 SELECT id FROM messages WHERE content LIKE 'what about%')))"""
        assert tx.run(sql) == 1

    await service.write(merged)
    assert len((await found()).shown) == 3, "an entry made of several messages stands for none of them"


async def test_a_fact_stands_for_the_message_it_was_learned_from(service: Service) -> None:
    await service.heard(said("I prefer gannets to geese.", 1))
    offered = registry(search(service.database, PEOPLE, service.clock))
    for reader, name in ((curious(), "you"), (owner_at_terminal(), "Ann")):
        found = await offered.call("search", reader, {"text": "gannets"})
        assert isinstance(found, SearchResults)
        assert [hit.kind for hit in found.hits] == ["message", "fact"]
        assert [(hit.kind, hit.who) for hit in found.shown] == [("fact", name)]


@pytest.mark.parametrize("code", ["en", "de", "ja"])
async def test_the_examples_of_the_help_are_nobodys_words(service: Service, code: str) -> None:
    service.model.replies.append(says(language(code).say("who", name="Carina", help=language(code).say("help"))))
    await service.heard(said("who are you?", 1))
    assert await texts(registry(search(service.database, PEOPLE, service.clock)), "17*23") == []
