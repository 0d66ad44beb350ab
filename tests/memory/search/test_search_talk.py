"""Messages are understood with what was said around them: in the same session, as far as the scope may know it."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.people.audience import Audience, Scope
from memory.search.all_domains import search
from memory.search.query import Query
from memory.store.database import Parameters, Row, Tx
from memory.store.ids import PersonId
from tests.memory.parts import ANN, BOB, GUILD, NOON, delete_message, edit_message
from tests.memory.search.search_world import ATTIC, HERE, STAR, World, ids, look

ASKED = "what is the name of your hamster?"
QUESTION = "how did the hamster get its name?"
ABROAD = Audience("guild:2")
MESSAGES: Any = frozenset({"messages"})


def at(minutes: float) -> dict[str, Any]:
    return {"at": NOON + timedelta(minutes=minutes)}


def test_a_question_finds_the_answer_that_has_none_of_its_words(world: World) -> None:
    world.hear("nice weather", **at(-90))
    asked = world.hear(ASKED, **at(0))
    answer = world.hear("Bolt, after the sprinter", person=BOB, speaker="Bob", **at(1))
    results = look(world, QUESTION)
    assert sorted(ids(results)) == sorted([asked, answer])
    why = {hit.id: (hit.matched, hit.around) for hit in results.hits}
    assert why == {asked: (("hamster", "name"), ()), answer: ((), ("hamster", "name"))}


def test_keywords_find_the_answer_that_has_none_of_them_only_as_a_question(world: World) -> None:
    asked, answer = world.hear(ASKED), world.hear("Bolt, after the sprinter", person=BOB, speaker="Bob")
    assert ids(look(world, "hamster name")) == [asked]
    assert sorted(ids(look(world, "hamster name", question=True))) == sorted([asked, answer])


@pytest.mark.parametrize(
    "apart",
    [
        {"at": NOON + timedelta(minutes=31)},
        {"at": NOON - timedelta(minutes=31)},
        {"place": ATTIC},
        {"audience": ABROAD},
    ],
    ids=["later", "told late", "elsewhere", "to others"],
)
def test_what_was_said_in_another_session_or_place_or_to_others_does_not_answer(
    world: World, apart: dict[str, Any]
) -> None:
    asked = world.hear(ASKED)
    world.hear("Bolt, after the sprinter", **apart)
    assert ids(look(world, QUESTION)) == [asked]


def test_a_session_goes_on_as_long_as_there_is_no_gap(world: World) -> None:
    for number in range(3):
        world.hear(f"{ASKED} {number}", **at(25 * number))
    answer = world.hear("Bolt", **at(75))
    assert answer in ids(look(world, QUESTION))


def test_the_answer_must_meet_the_conditions_itself(world: World) -> None:
    world.hear(ASKED)
    world.hear("Bolt", person=BOB, speaker="Bob")
    asked = [hit.text for hit in look(world, QUESTION, author="Ann").hits]
    assert asked == [ASKED]


def test_a_deleted_row_neither_answers_nor_lends_its_words(world: World) -> None:
    asked = world.hear(ASKED, external_id="asked")
    world.hear("Bolt", external_id="answer")
    delete_message(world.tx, "answer", NOON)
    assert ids(look(world, QUESTION)) == [asked]
    world.hear("Flash", external_id="other")
    delete_message(world.tx, "asked", NOON)
    assert ids(look(world, QUESTION)) == []


def test_an_edited_row_lends_the_words_that_it_has_now(world: World) -> None:
    world.hear(ASKED, external_id="asked")
    answer = world.hear("Bolt")
    edit_message(world.tx, "asked", "is your tortoise well?", NOON)
    assert ids(look(world, QUESTION)) == []
    assert answer in ids(look(world, "what about the tortoise?"))


def test_who_is_named_goes_first_with_what_they_said(world: World) -> None:
    for number in range(4):
        world.hear("I saw a hamster", **at(120 * number))
        bob = world.hear("I saw a hamster", person=BOB, speaker="Bob", **at(120 * number + 60))
    world.hear("I saw a hamster", **at(600))
    hits = look(world, "what did Bob say about the hamster?", domains=MESSAGES).hits
    assert (hits[0].id, [hit.named for hit in hits[:5]]) == (bob, [True] * 4 + [False])
    assert not any(hit.named for hit in look(world, "did Bob or Ann see the hamster?").hits)
    assert not any(hit.named for hit in look(world, "who saw the hamster?").hits)


def test_of_several_who_are_named_the_first_goes_first(world: World) -> None:
    by_name = {}
    for minutes, (name, person) in enumerate((("Ann", ANN), ("Bob", BOB), ("Ann", ANN), ("Bob", BOB))):
        by_name[name] = world.hear("I saw a hamster", person=person, speaker=name, **at(60 * minutes))
    for first, second in (("Ann", "Bob"), ("Bob", "Ann")):
        hits = look(world, f"what did {first} tell {second} about the hamster?", domains=MESSAGES).hits
        assert hits[0].id == by_name[first]
        assert not any(hit.named for hit in hits)


def test_what_a_session_begins_with_goes_before_what_is_said_later(world: World) -> None:
    first = world.hear("the hamster is ill", **at(0))
    for number in (*range(1, 9), *range(100, 108)):
        world.hear("all right", **at(number))
    last = world.hear("the hamster is ill", **at(108))
    assert ids(look(world, "hamster", domains=MESSAGES)) == [first, last]


@pytest.mark.parametrize(
    "question", ["what is my hamster called?", "wie heißt mein Hamster?", "私のハムスターの名前は？"]
)
def test_who_asks_of_themselves_finds_what_they_said_first(world: World, question: str) -> None:
    of_ann = world.hear("the hamster is called Bolt, der Hamster, ハムスター", **at(-60))
    of_bob = world.hear("the hamster is called Rex, der Hamster, ハムスター", person=BOB, speaker="Bob", **at(0))
    asked = [look(world, question, asker=asker) for asker in (ANN, BOB)]
    assert [(ids(each), [hit.named for hit in each.hits]) for each in asked] == [
        ([of_ann, of_bob], [True, False]),
        ([of_bob, of_ann], [True, False]),
    ]
    assert not any(hit.named for hit in look(world, question).hits)
    assert look(world, "what is Bob's hamster called?", asker=ANN).hits[0].id == of_bob
    assert not any(hit.named for hit in look(world, "the hamster", asker=ANN).hits)


def test_a_time_is_known_as_one_in_japanese_too(world: World) -> None:
    dated = world.hear("先週ハムスターを買った", **at(-200))
    plain = world.hear("店でハムスターを買った", **at(-100))
    assert ids(look(world, "いつハムスターを買った？", domains=MESSAGES)) == [dated, plain]
    assert ids(look(world, "どうしてハムスターを買った？", domains=MESSAGES)) == [plain, dated]


WORDS = ["hamster", "name", "wheel", "Bolt", "sunny", "when"]
QUESTIONS = ["what is the name of the hamster?", "when did Bob buy the wheel?", "hamster wheel", "is it sunny?"]
spoken = st.tuples(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
    st.sampled_from(["Ann", "Bob"]),
    st.sampled_from([0, 1, 5, 40]),
    st.sampled_from([None, None, ABROAD, Audience("person:discord:ann")]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(spoken, min_size=3, max_size=14), scope=st.sampled_from([HERE, Scope(ABROAD)]))
def test_what_others_said_in_between_changes_nothing(
    world: World, lines: list[tuple[str, str, int, Audience | None]], scope: Scope
) -> None:
    """Neither which rows are found, nor their order and scores, nor why, nor their neighbors."""
    shown = []
    for everything in (True, False):
        world.tx.run("DELETE FROM messages")
        minutes = 0
        for text, speaker, later, audience in lines:
            minutes += later
            if everything or scope.may_use(audience or GUILD):
                who = PersonId(f"discord:{speaker.lower()}")
                world.hear(text, speaker=speaker, person=who, audience=audience or GUILD, **at(minutes))
        shown.append([_shown(world, question, scope) for question in QUESTIONS])
    assert shown[0] == shown[1]


def _shown(world: World, question: str, scope: Scope) -> list[tuple[Any, ...]]:
    return [
        (
            *(hit.text, hit.score, hit.when, hit.matched, hit.around, hit.named),
            hit.before and hit.before.text,
            hit.after and hit.after.text,
        )
        for hit in look(world, question, scope, limit=50).hits
    ]


@pytest.mark.parametrize(
    "none",
    [
        "I don't know, nobody told me.",
        "Sorry, I couldn't find anything about a hamster's name.",
        "I'm not sure about its name.",
        "Das weiß ich leider nicht.",
        "Ich habe nichts zum Namen von deinem hamster gefunden.",
        "すみません、hamsterの名前はわかりません。",
    ],
)
def test_what_was_asked_before_and_not_answered_stands_below_the_answer(world: World, none: str) -> None:
    evidence = world.hear("We called him Bolt because he runs like a sprinter", person=BOB, speaker="Bob", **at(1))
    world.hear("my hamster got a wheel", **at(0))
    for later in (500, 1_000):
        world.hear(f"@Star {QUESTION}", **at(later))
        world.say(none, **at(later + 1))
    world.hear(QUESTION, **at(1_500))
    found = ids(look(world, QUESTION))
    assert found.index(evidence) < 2, "only what was said beside it may stand above"


def test_a_question_that_was_answered_still_leads_to_its_answer(world: World) -> None:
    world.hear(QUESTION, **at(0))
    answer = world.say("After the sprinter", **at(1))
    world.hear(QUESTION, **at(500))
    assert ids(look(world, QUESTION))[0] == answer


def test_a_question_that_tells_more_than_was_asked_is_no_echo(world: World) -> None:
    told = world.hear("Could you remind me in the evening that the wifi password is hunter2?", **at(0))
    world.hear("the wifi is slow again", **at(500))
    assert ids(look(world, "wifi password"))[0] == told


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("I have no doubt: the hamster got its name from the sprinter.", True),
        ("I don't know why, but the hamster got its name from the sprinter.", True),
        ("I found no note of the name that the hamster got.", False),
        ("I am not sure how the hamster got its name: nobody told me.", False),
        ("I am not sure: Bob said that the hamster got its name from the sprinter.", True),
    ],
)
def test_only_what_says_that_we_do_not_know_is_no_answer(world: World, said: str, *, known: bool) -> None:
    world.hear("so what did the vet do with the hamster", **at(0))
    answer = world.say(said, **at(500))
    assert (ids(look(world, QUESTION))[0] == answer) is known


def test_who_states_something_beside_a_question_is_no_echo(world: World) -> None:
    stated = world.hear("The hamster got its name from the sprinter Bolt. How did yours?", **at(0))
    world.hear("so what did the vet do with the hamster", **at(500))
    assert ids(look(world, QUESTION))[0] == stated


class _Counting(Tx):
    looks = 0

    def all(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        self.looks += 1
        return super().all(sql, parameters)

    def one(self, sql: str, parameters: Parameters = ()) -> Row | None:
        self.looks += 1
        return super().one(sql, parameters)


def test_a_search_takes_the_same_few_looks_however_much_it_finds(world: World) -> None:
    """Python's lock changes hands for each: one for each message made a page wait a quarter of a second."""
    looks = list[int]()
    for count in (2, 30):
        for number in range(count):
            world.hear(f"the hamster has the name Bolt{number}", **at(number * 40))
        counting = _Counting(world.tx._raw)
        assert len(search(counting, Query(QUESTION, STAR, limit=count, domains=MESSAGES), HERE).hits) == count
        looks.append(counting.looks)
    assert looks[0] == looks[1] < 25


def test_an_agent_that_is_addressed_is_not_taken_for_the_one_who_said_it(world: World) -> None:
    world.say("a hamster, you said", **at(-60))
    world.hear("my hamster is called Bolt", **at(0))
    assert [hit.named for hit in look(world, "Star, what about the hamster?").hits] == [False, False]
