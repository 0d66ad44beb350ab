"""Earlier talk in short as a domain of search: whose is found, when, by what, and that it goes with its summary."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from memory.erasure import person_in_one_constellation as erasure
from memory.knowledge import summaries
from memory.knowledge.summaries import AgentSummary, Compaction, ConstellationSummary, Span
from memory.people.audience import OWNER, PUBLIC, Audience, Scope, Trust, person_audience
from memory.queue import messages
from memory.search.all_domains import search
from memory.search.query import Domain, Hit, Query, Results
from memory.store.database import Value
from memory.store.ids import AgentId, ErasureId, MessageId, TurnId
from tests.memory.parts import ANN, BOB, GUILD, NOON
from tests.memory.search.search_world import ATTIC, HALL, HERE, MOON, STAR, World

ALONE = person_audience(ANN)
SUMMARIES = frozenset[Domain]({"summaries"})
DAY = timedelta(days=1)


def look(world: World, text: str, scope: Scope = HERE, agent: AgentId | None = None, **more: Any) -> Results:
    return search(world.tx, Query(text, agent, SUMMARIES, **more), scope)


def texts(world: World, text: str, scope: Scope = HERE, agent: AgentId | None = None, **more: Any) -> list[str]:
    return [hit.text for hit in look(world, text, scope, agent, **more).hits]


def heard(world: World, audience: Audience = GUILD, text: str = "said in passing", **change: Any) -> messages.Message:
    """A message that a summary can be made of."""
    number = MessageId(int(world.hear(text, audience=audience, **change)))
    return messages.by_ids(world.tx, [number], Scope(audience))[0]


def talk(world: World, text: str, source: messages.Message, agent: AgentId = STAR, at: datetime = NOON) -> str:
    end = summaries.position(source)
    made = Compaction(
        text, source.audience, Trust.STRANGER, 1, "scripted:one", at, (end, end),
        agent=agent, place=source.place, strategy="recursive_summarization",
    )  # fmt: skip
    return str(summaries.add(world.tx, made).id)


def did(world: World, text: str, source: messages.Message, agent: AgentId = STAR, at: datetime = NOON) -> None:
    made = AgentSummary(text, source.audience, Trust.AGENT, 1, "", at, agent=agent, agent_name=agent)
    summaries.put_agent_summary(world.tx, made, [source])


def day(world: World, text: str, source: messages.Message, start: datetime = NOON, span: Span = "day") -> str:
    end = start + DAY
    made = ConstellationSummary(
        text, source.audience, Trust.WEB, 0, "", end,
        start=start, end=end, decisions=("buy hay",), threads=("the roof",), span=span,
    )  # fmt: skip
    return str(summaries.add_constellation_summary(world.tx, made, [source]).id)


def test_they_are_searched_by_name_alone(world: World) -> None:
    talk(world, "the hamsters moved in", heard(world))
    results = search(world.tx, Query("hamster", STAR), HERE)
    assert (results.hits, "summaries" in results.searched) == ([], False)


def test_a_summary_without_words_is_no_row(world: World) -> None:
    talk(world, "", heard(world))
    assert look(world, "").seen == {"summaries": 0}


SECRET = "quetzalcoatl"


@pytest.mark.parametrize(
    ("scope", "knows"),
    [
        (HERE, {"guild"}),
        (Scope(PUBLIC), set()),
        (Scope(Audience("guild:2")), set()),
        (Scope(Audience("channel:discord:7"), frozenset({GUILD})), {"guild"}),
        (Scope(person_audience(BOB), frozenset({GUILD})), {"guild"}),
        (Scope(ALONE), {"alone"}),
        (Scope(ALONE, frozenset({GUILD})), {"alone", "guild"}),
        (Scope(OWNER), {"guild", "owner"}),
    ],
)
@pytest.mark.parametrize("text", [SECRET, ""])
def test_nothing_is_found_or_counted_that_those_who_hear_may_not_know(
    world: World, scope: Scope, knows: set[str], text: str
) -> None:
    for name, audience in (("alone", ALONE), ("guild", GUILD), ("owner", OWNER)):
        source = heard(world, audience)
        talk(world, f"{SECRET} {name}", source)
        did(world, f"{SECRET} {name}", source)
        day(world, f"{SECRET} {name}", source)
    found = texts(world, text, scope)
    assert {said.split()[1] for said in found} == knows
    assert len(found) == 3 * len(knows)
    assert look(world, "nowhere", scope).seen == {"summaries": 3 * len(knows)}


def test_audiences_that_may_not_be_known_do_not_fill_the_places_of_others(world: World) -> None:
    for number in range(30):
        talk(world, f"{SECRET} {number}", heard(world, ALONE), at=NOON + timedelta(minutes=number))
    talk(world, f"{SECRET} known", heard(world), at=NOON - DAY)
    assert texts(world, "", limit=1) == texts(world, SECRET, limit=1) == [f"{SECRET} known"]


def test_it_goes_with_its_summary_from_the_index_too(world: World) -> None:
    source, other = heard(world), heard(world, ALONE)
    for said in (source, other):
        talk(world, "hamsters moved in", said)
        did(world, "fed hamsters", said)
        day(world, "a day of hamsters", said)
    uses: list[dict[str, Value]] = [
        {"turn_id": 7, "kind": "summary", "row_id": hit.id, "audience": GUILD} for hit in all_of(world)
    ]
    world.tx.insert("turns", turn(7))
    for use in uses:
        world.tx.insert("turn_uses", use)
    messages.redact(world.tx, [source.id], NOON)
    assert look(world, "hamster").hits == []
    assert len(world.tx.all("SELECT 1 FROM item_fts WHERE item_fts MATCH 'hamster'")) == 3, "of the other talk"
    world.tx.run("INSERT INTO item_fts (item_fts, rank) VALUES ('integrity-check', 1)")
    assert [row[0] for row in world.tx.all("SELECT kind FROM turn_uses")] == ["gone"] * 3
    named = [row[0] for row in world.tx.all("SELECT row_id FROM turn_uses")]
    assert not {use["row_id"] for use in uses} & set(named)


def all_of(world: World) -> list[Hit]:
    return look(world, "").hits


def turn(number: int) -> dict[str, Any]:
    made = {"id": number, "agent_id": STAR, "place_id": HALL, "person_id": BOB, "audience": GUILD, "within": "[]"}
    return {**made, "trust": 1, "status": "done", "started_at": "2026-11-22T12:00:00.000Z"}


def test_a_newer_one_of_an_agent_or_a_day_takes_the_place_of_the_older(world: World) -> None:
    source = heard(world)
    did(world, "fed a hamster", source)
    day(world, "a hamster came", source)
    did(world, "fed a stork", source)
    day(world, "a stork came", source)
    assert look(world, "hamster").hits == []
    assert len(look(world, "stork").hits) == 2
    assert look(world, "nowhere").seen == {"summaries": 2}


def quoted(world: World, hit: Hit) -> None:
    """In a turn of Bob's, a tool shows a summary, and the answer says it in other words."""
    world.tx.insert("turns", turn(7))
    world.tx.insert("turn_uses", {"turn_id": 7, "kind": "summary", "row_id": hit.id, "audience": GUILD})
    world.say(f"summary: {SECRET}", batch=TurnId(7), person=BOB, role="tool", tool_call_id="c")
    world.say("It is a llama, I read.", batch=TurnId(7), person=BOB, sequence=1)


def ann_is_erased(world: World) -> None:
    erasure.erase_here(world.tx, ErasureId(1), ANN, NOON)
    assert world.tx.all("SELECT 1 FROM messages WHERE instr(content, ?)", (SECRET,)) == [], "what the tool quoted"
    assert world.tx.all("SELECT 1 FROM messages WHERE instr(content, 'I read')"), "what Bob was answered stays"
    assert [row[0] for row in world.tx.all("SELECT kind FROM turn_uses")] == ["gone"]


@pytest.mark.parametrize("make", [did, day])
def test_erasing_takes_what_a_tool_quoted_of_a_summary_that_was_made_anew_since(
    world: World, make: Callable[[World, str, messages.Message], object]
) -> None:
    source = heard(world, GUILD, text=f"my llama is {SECRET}")
    make(world, f"Ann's llama is {SECRET}", source)
    (hit,) = all_of(world)
    quoted(world, hit)
    make(world, "Ann has a llama", source)
    ann_is_erased(world)


def test_erasing_a_person_takes_what_was_summarized_and_what_tools_quoted_of_it(world: World) -> None:
    source = heard(world, GUILD, text=f"my llama is {SECRET}")
    talk(world, f"Ann's llama is {SECRET}", source)
    did(world, f"heard of {SECRET}", heard(world, ALONE))
    (hit,) = [each for each in all_of(world) if each.label == "conversation"]
    quoted(world, hit)
    ann_is_erased(world)
    assert look(world, "", Scope(ALONE, frozenset({GUILD}))).seen == {"summaries": 0}
    assert world.tx.all("SELECT 1 FROM item_fts WHERE item_fts MATCH ?", (SECRET,)) == []


def test_all_three_are_found_by_their_words_and_say_what_they_are_of(world: World) -> None:
    of_talk = talk(world, "the hamsters moved in", heard(world))
    did(world, "fed a hamster", heard(world))
    of_day = day(world, "a day of hamsters", heard(world))
    found = {hit.label: hit for hit in look(world, "hamster").hits}
    assert set(found) == {"conversation", "agent", "day"}
    assert {hit.kind for hit in found.values()} == {"summary"}
    assert (found["conversation"].id, found["day"].id) == (of_talk, of_day)
    assert (found["conversation"].speaker, found["conversation"].place) == (STAR, HALL)
    assert (found["day"].speaker, found["day"].place, found["day"].when) == (None, None, NOON)
    assert found["day"].text == "a day of hamsters\nbuy hay\nthe roof", "with what was decided and is open"
    assert texts(world, "roof") == [found["day"].text]
    trusts = [found[of].trust for of in ("conversation", "agent", "day")]
    assert trusts == [Trust.STRANGER, Trust.AGENT, Trust.WEB], "as it is stored"


def test_an_agent_finds_its_own_and_those_of_all(world: World) -> None:
    source = heard(world)
    talk(world, "of Star", source)
    did(world, "Moon did", source, MOON)
    day(world, "everybody", source)
    everybody = "everybody\nbuy hay\nthe roof"
    assert set(texts(world, "", agent=STAR)) == {"of Star", everybody}
    assert set(texts(world, "", agent=MOON)) == {"Moon did", everybody}
    assert set(texts(world, "")) == {"of Star", "Moon did", everybody}


def test_a_time_keeps_to_when_it_was_made_and_of_a_day_to_that_day(world: World) -> None:
    source = heard(world)
    talk(world, "old talk", source, at=NOON - 10 * DAY)
    did(world, "did lately", source, at=NOON)
    day(world, "yesterday", source, NOON - DAY)
    day(world, "the week", source, NOON - 8 * DAY, "week")
    names = {"old talk": 0, "the week": 1, "yesterday": 2, "did lately": 3}

    def found(**more: Any) -> list[int]:
        return [names[said.partition("\n")[0]] for said in texts(world, "", **more)]

    assert found() == [3, 2, 1, 0], "newest first"
    assert found(since=NOON - DAY) == [3, 2]
    assert found(until=NOON - DAY) == [1, 0]
    assert found(since=NOON - DAY, until=NOON) == [2]


def test_place_and_author_are_met_by_those_that_have_them_and_other_conditions_by_none(world: World) -> None:
    talk(world, "in the hall", heard(world))
    talk(world, "in the attic", heard(world, place=ATTIC), MOON)
    day(world, "everywhere", heard(world))
    assert texts(world, "", place=ATTIC) == ["in the attic"]
    assert texts(world, "", author=MOON.upper()) == ["in the attic"], "an agent by its name"
    assert texts(world, "", author="Ann") == [], "a summary is nobody's saying"
    for condition in ({"role": "user"}, {"category": "pets"}, {"tags": ("pets",)}, {"person": ANN}):
        assert look(world, "", **condition).searched == ()
