"""`search` and `carina search`: which conversations are whose, what is shown of a hit, and where it is looked."""

from pathlib import Path
from typing import Any

import pytest

from bot.agents.permissions.roles_and_rights import People
from bot.agents.tools.search import GUESSES
from bot.models.base import Answer, ToolMessage
from bot.services.caller import owner_at_terminal
from bot.services.memory.search import Search, SearchResults
from bot.services.results import Markdown
from bot.upkeep.embedding import QueryMeaning
from memory.knowledge import facts, summaries
from memory.knowledge.fact_extraction import Category, Statement
from memory.knowledge.facts import Source
from memory.people import person_settings
from memory.people.audience import Audience, Trust
from memory.search.vector_similarity import Meaning
from memory.store.database import Rows, Tx
from memory.store.ids import AgentId, SessionId
from memory.store.records import replace
from sources.terminal import PERSON
from tests.bot.agents.groups.parts import Cast, agents
from tests.bot.parts import ANN, BOB, HALL, NOON, call, channel, private, results, said, says
from tests.bot.plain import search
from tests.bot.services.calling import registry
from tests.bot.stage import Service, Setting, running
from tests.memory.search.search_world import MODEL, embed, in_plane

TABLES = agents("Ant", "Bee").replace("tools = []", 'tools = ["recall", "search"]')
TWO = f'{TABLES}[[groups]]\nname = "Pair"\nmembers = ["Ant", "Bee"]\n'
PORT = channel("port")


def looking(tool: str, **arguments: Any) -> Answer:
    return says("", call(tool, **arguments))


async def looked(service: Service, number: int, tool: str = "search", **arguments: Any) -> tuple[str, bool]:
    """What comes of a look that the agent takes in a turn of its own."""
    service.model.replies.extend([looking(tool, **arguments), says("Done.")])
    await service.heard(said("look it up", number))
    return results(service.model.requests[-1])[-1]


def search_of(service: Service) -> Search:
    """As the owner's command line has it, who hears what is said in guilds."""
    return search(service.database, People((PERSON,)), service.clock)


async def found(of: Search, text: str, **conditions: Any) -> SearchResults:
    result = await registry(of).call("search", owner_at_terminal(), {"text": text, **conditions})
    assert isinstance(result, SearchResults)
    return result


def on_discord(result: SearchResults) -> str:
    return "\n".join(result.lines(Markdown()))


@pytest.mark.parametrize(
    ("tool", "arguments", "finds"),
    [
        ("search", {"query": "ferry", "domain": "conversations"}, False),
        ("search", {"query": "", "domain": "conversations"}, False),
        ("recall", {"operation": "query", "query": "ferry"}, False),
        ("search", {"query": "ferry", "domain": "constellation_messages"}, True),
        ("search", {"query": "ferry"}, True),
    ],
)
async def test_an_agent_s_conversations_are_those_it_took_part_in(
    tmp_path: Path, tool: str, arguments: dict[str, str], finds: bool
) -> None:
    model = Cast(Ant=["The ferry leaves at noon.", looking(tool, **arguments), "Done."])
    async with running(tmp_path, Setting(model, toml=TWO)) as service:
        await service.heard(said("Bee: the red ferry was late", 1, speaker=BOB))
        await service.heard(said("Bee: the red ferry was late", 2, PORT, speaker=BOB))
        await service.heard(said("Ant: when is the last boat?", 3))
        await service.heard(said("Ant: look it up", 4))
        ((told, ok),) = results(model.requests[-1])[-1:]
        assert ok
        assert ("the red ferry was late" in told) is finds
        if tool == "recall" or arguments["query"] == "":
            assert "leaves at noon" in told or "last boat" in told


@pytest.mark.parametrize("tool", ["search", "recall"])
async def test_what_a_model_expects_in_the_answer_is_searched_for_with_the_question(tmp_path: Path, tool: str) -> None:
    asked: list[str] = []

    async def meaning(text: str) -> Meaning | None:
        asked.append(text)
        return Meaning(MODEL, in_plane(1.0, 0.0)) if text.endswith("clay") else None

    asking = {"operation": "query"} if tool == "recall" else {}
    async with running(tmp_path, Setting(meaning=meaning)) as service:
        service.model.replies.append(says("Nice."))
        await service.heard(said("I made a bowl in the pottery class.", 1))
        await service.write(lambda tx: embed(tx, {"pottery": (1.0, 0.0), "": (0.0, 1.0)}))
        for number, expected in enumerate(("", "hiking, pottery", "clay"), 2):
            told, ok = await looked(service, number, tool, query="which hobbies?", expected=expected, **asking)
            assert (ok, "pottery class" in told) == (True, bool(expected))
    assert asked.count("which hobbies?") == 3
    assert asked.count("which hobbies? hiking, pottery") == 1


# ------------------------------------------------------------------------------------------------------ why, and beside


async def _talk(service: Service) -> None:
    for number, text in enumerate(("I was at the harbour.", "The red ferry was late.", "It rained all day."), 1):
        service.model.replies.append(says("I see."))
        await service.heard(said(text, number))


async def test_nothing_is_shown_beside_a_hit_that_those_who_hear_may_not_know(service: Service) -> None:
    owner = search_of(service)
    secret = private("hall")  # the same place, made private for a while
    for number, text, place in ((1, "the safe is open", secret), (2, "a red ferry", channel("hall"))):
        service.model.replies.append(says("Yes."))
        await service.heard(said(text, number, place))
    told, _ok = await looked(service, 3, query="ferry")
    assert ("a red ferry" in told, "safe" in told) == (True, False)
    (hit, *_) = (await found(owner, "ferry")).data()["hits"]
    assert (hit["matched"], hit["why"], hit["distance"], hit["named"]) == (["ferry"], "contains ferry", None, False)
    assert hit["before"]["by"] == "Carina"
    assert hit["after"]["text"] == "Yes."


async def test_a_guess_is_told_as_one_wherever_it_is_shown_and_never_comes_to_mind_by_itself(tmp_path: Path) -> None:
    about = Meaning(MODEL, in_plane(1.0, 0.0))

    async def meaning(_text: str) -> Meaning:
        return about

    async def understood(_text: str) -> QueryMeaning:
        return QueryMeaning(about)

    async with running(tmp_path, Setting(meaning=meaning)) as service:
        service.model.replies.extend(
            [looking("recall", operation="insert", content="Minka purrs", category="animals"), says("Kept.")]
        )
        await service.heard(said("note it", 1))
        await service.write(lambda tx: embed(tx, {"Minka": (0.25, 0.968), "": (0.0, 1.0)}))
        for tool, arguments in (
            ("search", {"query": "pets", "domain": "archival_memory"}),
            ("recall", {"operation": "query", "query": "pets", "category": "animals"}),
        ):
            told, _ok = await looked(service, len(service.model.requests) + 10, tool, **arguments)
            assert "Minka" not in service.model.requests[-2].messages[-1].text, "it is not recalled"
            assert told.startswith(f"{GUESSES}\n- ent_")
            assert "Minka purrs" in told
        people = replace(search_of(service), understood=understood)
        shown = await found(people, "pets", domain="archival_memory")
        (hit,) = shown.data()["hits"]
        assert hit["perhaps"]
        for text in (on_discord(shown), shown.terminal(Markdown())):
            assert ", perhaps" in text
            assert "“Perhaps” marks guesses" in text


@pytest.mark.parametrize(
    ("domain", "searched"),
    [
        ("archival_memory", {"archival", "archival_blocks"}),
        ("constellation_messages", {"messages"}),
        ("all", {"archival", "messages", "blocks", "activity", "facts", "tasks", "summaries", "files"}),
        (None, {"archival", "messages", "blocks", "facts", "tasks"}),
    ],
)
async def test_agents_and_people_name_what_they_search_alike(
    service: Service, domain: str | None, searched: set[str]
) -> None:
    named = {} if domain is None else {"domain": domain}
    assert set((await found(search_of(service), "mango", **named)).searched) == searched
    told, _ok = await looked(service, 1, query="mango", **named)
    where = told.removeprefix("Nothing was found. Searched: ").removesuffix(".").split(", ")
    assert {each.split()[1] for each in where} == searched - {"files"}, "the agent has no folder"


# ------------------------------------------------------------------------------------------ where, and what is left out


@pytest.mark.parametrize(
    ("conditions", "finds"),
    [
        ({"tags": ["sea"]}, {"entry"}),
        ({"category": "places", "tags": ["SEA"]}, {"entry"}),
        ({"role": "user"}, {"hall", "port"}),
        ({"role": "assistant"}, {"answer"}),
        ({"place": "#port"}, {"port"}),
        ({"place": "port", "role": "assistant"}, set()),
        ({"author": "me"}, {"hall"}),
    ],
)
async def test_a_search_keeps_to_its_conditions(service: Service, conditions: dict[str, Any], finds: set[str]) -> None:
    service.model.replies.append(says("I see."))
    await service.heard(said("the ferry of the port", 1, PORT, speaker=BOB))
    keep = call("recall", operation="insert", content="the ferry of the entry", tags=["sea"], category="places/north")
    service.model.replies.extend([says("", keep), says("I know the ferry of the answer.")])
    await service.heard(said("the ferry of the hall", 2))
    told, ok = await looked(service, 3, query="ferry", **conditions)
    assert ok
    hits = [line for line in told.splitlines() if line.startswith("- ")]
    assert {name for name in ("entry", "hall", "port", "answer") if any(f"the {name}" in hit for hit in hits)} == finds


async def test_a_place_that_may_not_be_known_and_conditions_that_nothing_has_are_said(service: Service) -> None:
    await service.heard(said("the ferry", 1, channel("abroad", of="elsewhere"), speaker=BOB))
    for conditions, words in (
        ({"place": "abroad"}, "There is no place “abroad” here."),
        ({"domain": "tasks", "role": "user"}, "Nothing was searched: role applies only to messages."),
        ({"author": "Zoe"}, "Nobody called “Zoe” said anything here. Choose from: "),
        ({"category": "boats"}, "There is no category “boats” here."),
        ({"tags": ["sea"]}, "There is no tag “sea” here."),
        ({"domain": "facts", "author": "me"}, "Nothing was found. Searched: 0 facts."),
        ({"domain": "files"}, "You have no folder of files."),
        ({"author": "me", "role": "assistant"}, "author 'me' is a person: leave role out"),
    ):
        assert words in (await looked(service, len(service.model.requests) + 5, query="ferry", **conditions))[0]


@pytest.mark.parametrize(
    ("zone", "conditions", "there"),
    [
        ("UTC", {"since": "2026-11-22"}, True),
        ("UTC", {"since": "2026-11-23"}, False),
        ("Pacific/Auckland", {"since": "2026-11-23"}, True),  # thirteen hours on: it is one in the morning there
        ("UTC", {"until": "2026-11-22"}, True),
        ("UTC", {"until": "2026-11-22 12:00"}, False),
        ("Pacific/Auckland", {"until": "2026-11-22"}, False),
        ("Pacific/Auckland", {"until": "2026-11-22T12:01Z"}, True),
        ("UTC", {"since": "5m", "until": "2026-11-22"}, True),
    ],
)
async def test_a_day_is_one_on_the_clocks_of_who_asks_and_counts_whole(
    service: Service, zone: str, conditions: dict[str, Any], there: bool
) -> None:
    await service.heard(said("the red ferry", 1))
    elsewhere = replace(search_of(service), zone=zone)
    assert bool((await found(elsewhere, "ferry", **conditions)).hits) is there

    def moved(tx: Tx) -> None:
        person_settings.put(tx, (PERSON,), person_settings.Times(zone=zone), service.clock())

    await service.write(moved)
    own = await found(search_of(service), "ferry", **conditions)
    assert bool(own.hits) is there, "by the zone that they named"


async def test_a_condition_that_what_is_asked_cannot_meet_is_said_to_people_too(service: Service) -> None:
    await _talk(service)
    told = await found(search_of(service), "ferry", domain="facts", role="user")
    assert on_discord(told).startswith(
        "Nothing was searched: the filter “role” does not apply to anything you chose to search."
    )
    assert told.unmet == "Nothing was searched: role applies only to messages."
    said_by_me = await found(search_of(service), "ferry", domain="summaries", author="me")
    assert said_by_me.unmet.startswith("Nothing was searched: author 'me' applies only to messages, entries, ")
    mine = await found(search_of(service), "", domain="blocks", author="me")
    assert list(mine.searched) == ["blocks"], "what is about them"


async def test_a_fact_is_of_whom_it_was_learned_from(tmp_path: Path) -> None:
    async with running(tmp_path, Setting()) as service:
        service.model.replies.append(says("Hello."))
        await service.heard(said("hello", 1))
        agent = AgentId(str((await service.column("SELECT id FROM agents"))[0]))

        def learn(tx: Tx) -> None:
            source = Source("hand", agent, SessionId(1), None, ANN.id, HALL.audience, Trust.APPROVED)
            facts.learn(tx, [Statement(Category.LESSON, "My brother is called Tom")], source, NOON)

        await service.write(learn)
        for number, (speaker, mine) in enumerate(((ANN, True), (BOB, False)), 2):
            service.model.replies.extend([looking("search", query="brother", domain="facts"), says("Tom.")])
            await service.heard(said("who is my brother?", number, HALL, speaker))
            told = service.model.requests[-1].messages[-1]
            assert isinstance(told, ToolMessage)
            assert isinstance(told.data, dict)
            (hit,) = told.data["hits"]
            assert (hit["speaker"], hit["mine"]) == ("Ann", mine)


async def test_a_channel_that_became_private_keeps_its_new_name_from_the_others(tmp_path: Path) -> None:
    yard, name = channel("yard"), "Xolotl"
    async with running(tmp_path) as service:
        await service.heard(said("the red ferry was late", 1, yard, BOB))
        await service.heard(said("the red ferry has sunk", 2, replace(private("yard"), name=name), BOB))
        shown, _ok = await looked(service, 3, query="ferry")
        assert "the red ferry was late" in shown
        assert "(2026-11-22 12:00 UTC, Bob in discord:yard)" in shown
        assert name not in repr(service.model.requests[-1])

        def places(rows: Rows, audience: Audience) -> dict[str, str]:
            of_day = summaries.said_between(rows, audience, NOON.replace(hour=0), NOON.replace(hour=23), 10)
            return summaries.places_of(rows, of_day)

        assert (await service.read(lambda rows: places(rows, HALL.audience))).keys() == {HALL.id}
        assert await service.read(lambda rows: places(rows, private("yard").audience)) == {yard.id: name}
