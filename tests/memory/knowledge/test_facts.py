"""Learned facts: what is found in a text, when two say the same, and whose goes when there is no room."""

import tomllib
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memory.knowledge import fact_comparison as comparison
from memory.knowledge import fact_extraction as extraction
from memory.knowledge import facts
from memory.knowledge.fact_comparison import Relation
from memory.knowledge.fact_extraction import Category, Statement
from memory.knowledge.facts import KNOWN, SHARED, Fact, FactLimits, Source, Step
from memory.people.audience import OWNER, Audience, Scope, Trust, person_audience
from memory.queue import messages
from memory.queue.notifications import Place
from memory.store.database import Tx
from memory.store.ids import AgentId, FactId, MessageId, PersonId, PlaceId, SessionId
from memory.store.records import replace
from tests.memory.parts import ANN, BOB, GUILD, HALL, NOON, STAR, a_turn, spoken, store, taken

MOON = AgentId("agt_moon")
OWNERS = PersonId("discord:olga")
YARD = replace(HALL, id=PlaceId("discord:11"), name="yard")
TABLES = tomllib.loads(Path(__file__).with_name("statements.toml").read_text("utf-8"))
PREFERENCE, LESSON = Category.PREFERENCE, Category.LESSON


def said(text: str, category: Category = LESSON, *, corrects: bool = False) -> Statement:
    return Statement(category, text, corrects)


def source(session: int = 1, **change: Any) -> Source:
    plain = Source("said", STAR, SessionId(session), None, ANN, GUILD, Trust.APPROVED)
    return replace(plain, **change)


def texts(tx: Tx, scope: Scope | None = None) -> list[str]:
    return sorted(fact.text for fact in facts.listing(tx, scope or Scope(GUILD)))


def only(tx: Tx, scope: Scope | None = None) -> Fact:
    (found,) = facts.listing(tx, scope or Scope(GUILD))
    return found


# ------------------------------------------------------------------------------------------------- words and likeness


def test_unspaced_scripts_are_compared_by_pairs() -> None:
    assert comparison.words("緑茶が好き") == {"緑茶", "茶が", "が好", "好き"}
    assert comparison.words("茶") == {"茶"}


def test_a_fingerprint_is_the_same_but_for_case_and_signs() -> None:
    assert comparison.fingerprint("User prefers SOLID!") == comparison.fingerprint("user prefers solid")
    assert comparison.fingerprint("user prefers solid") != comparison.fingerprint("user prefers dashed")
    assert comparison.fingerprint("私は緑茶が好き") != comparison.fingerprint("私は紅茶が好き") != ""


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [(*pair, Relation(name)) for name, pairs in TABLES["relations"].items() for pair in pairs],
)
def test_how_two_statements_stand_to_each_other(new: str, old: str, expected: Relation) -> None:
    assert comparison.relation(new, old) is expected
    assert comparison.relation(old, new) is expected


# ------------------------------------------------------------------------------------------------- what is found


@pytest.mark.parametrize(
    ("category", "text", "statement"),
    [(Category(name), *each) for name, found in TABLES["found"].items() for each in found.items()],
)
def test_what_people_say_is_found(category: Category, text: str, statement: str) -> None:
    assert extraction.statements(text, own=True) == [Statement(category, statement)]


@pytest.mark.parametrize("text", TABLES["nothing"])
def test_what_says_nothing_lasting_is_left(text: str) -> None:
    assert extraction.statements(text, own=True) == []


def test_only_a_persons_own_words_speak_of_that_person() -> None:
    assert extraction.statements("I like green tea. Ich mag Tee. 紅茶が好きです。", own=False) == []
    assert extraction.statements("The user likes green tea.", own=False) == [Statement(PREFERENCE, "likes green tea")]


def test_a_statement_is_taken_once_and_only_so_many_of_one_text() -> None:
    assert len(extraction.statements("I like green tea. i like GREEN tea!", own=True)) == 1
    many = "\n".join(f"Note: lesson number {number} of twenty" for number in range(20))
    assert [each.text for each in extraction.statements(many, own=True)] == [
        f"lesson number {number} of twenty" for number in range(10)
    ]


def test_a_long_statement_ends_with_a_whole_word() -> None:
    (found,) = extraction.statements("Note: " + "wonderful " * 20, own=True)
    assert found.text == " ".join(["wonderful"] * 12)
    assert len(found.text) <= extraction.LONGEST


@pytest.mark.parametrize(
    "text",
    ["No, I prefer the light theme", "That's wrong. I prefer the light theme", "Actually I prefer the light theme"],
)
def test_a_correction_is_known_as_one(text: str) -> None:
    assert extraction.statements(text, own=True) == [Statement(PREFERENCE, "prefers the light theme", corrects=True)]
    assert not extraction.statements("I prefer the light theme", own=True)[0].corrects


# ------------------------------------------------------------------------------------------------- what is learned


def test_the_same_session_reinforces_once_however_it_is_put(tx: Tx) -> None:
    for text in (
        "solid borders over dashed borders",
        "solid borders instead of dashed borders",
        "SOLID borders over dashed borders",
    ):
        facts.learn(tx, [said(text)], source(1), NOON)
    assert (only(tx).text, only(tx).reinforcements) == ("solid borders over dashed borders", 1)


def test_too_few_words_are_skipped(tx: Tx) -> None:
    assert [each.step for each in facts.learn(tx, [said("use solid")], source(), NOON)] == [Step.SKIP]
    facts.learn(
        tx,
        [said("likes tea", PREFERENCE), said("紅茶が好き", PREFERENCE), said("サーバーの起動は遅い")],
        source(),
        NOON,
    )
    assert len(texts(tx)) == 3


@pytest.mark.parametrize("origin", ["tool", "agent"])
def test_what_the_person_said_wins_over_tools_and_agents(tx: Tx, origin: Any) -> None:
    facts.learn(tx, [said("prefers dark theme editor", PREFERENCE)], source(1), NOON)
    (found,) = facts.learn(tx, [said("prefers light theme editor", PREFERENCE)], source(2, origin=origin), NOON)
    assert (found.step, texts(tx)) == (Step.REFUSE, ["prefers dark theme editor"])
    facts.learn(tx, [said("uses node 18 here")], source(2, origin=origin), NOON)
    facts.learn(tx, [said("uses node 20 here")], source(3), NOON)
    assert texts(tx) == ["prefers dark theme editor", "uses node 20 here"]


def test_a_correction_replaces_what_was_learned_of_the_same_thing(tx: Tx) -> None:
    facts.learn(tx, [said("likes apple cake with cream", PREFERENCE)], source(1), NOON)
    facts.learn(tx, [said("likes cherry cake with cream", PREFERENCE)], source(1), NOON)
    assert len(texts(tx)) == 2
    facts.learn(tx, [said("likes lemon cake with cream", PREFERENCE, corrects=True)], source(1), NOON)
    assert texts(tx) == ["likes lemon cake with cream"]


def heard(tx: Tx, *said: str) -> list[str]:
    for number, text in enumerate(said):
        facts.learn(tx, extraction.statements(text, own=True), source(1), NOON + timedelta(minutes=number))
    return texts(tx)


@pytest.mark.parametrize(
    ("first", "correction", "left"), [(first, *then) for first, then in TABLES["corrections"].items()]
)
def test_a_correction_in_plain_words_replaces_what_was_to_be_remembered(
    tx: Tx, first: str, correction: str, left: str
) -> None:
    assert heard(tx, "Note: the river path is long", first, correction) == sorted(["the river path is long", left])


def test_a_correction_in_plain_words_teaches_nothing_else(tx: Tx) -> None:
    known = ["my sister is a good nurse", "my sister's name is Ana"]
    assert heard(tx, *(f"remember that {each}" for each in known)) == known
    assert heard(tx, "no, my sister's birthday is in May", "no, if my sister is a pilot", "my sister is a vet") == known
    assert heard(tx, "No, my sister is a good nurse!") == known


def told(tx: Tx, *said: str) -> list[str]:
    for number, text in enumerate(said, 1):
        message = taken(tx, number, text).message
        facts.learn(tx, extraction.statements(text, own=True), source(message=message), NOON)
    return texts(tx)


@pytest.mark.parametrize(("said", "left"), TABLES["right_after"])
def test_a_correction_right_after_replaces_what_was_said_with_the_same_verb(
    tx: Tx, said: list[str], left: list[str]
) -> None:
    assert told(tx, *said) == left


@pytest.mark.parametrize(("answer", "left"), [("Noted.", "water"), ("Blue. Tea or coffee?", "blue")])
def test_what_answers_a_question_of_ours_is_no_other_value(tx: Tx, answer: str, left: str) -> None:
    first = taken(tx, 1, "my favorite color is blue")
    facts.learn(tx, extraction.statements("my favorite color is blue", own=True), source(message=first.message), NOON)
    messages.add(tx, spoken(a_turn(), answer))
    then = taken(tx, 2, "no, water").message
    facts.learn(tx, extraction.statements("no, water", own=True), source(message=then), NOON)
    assert texts(tx) == [f"favorite color is {left}"]


def test_a_correction_later_replaces_nothing(tx: Tx) -> None:
    first, then = taken(tx, 1, "I like jazz").message, taken(tx, 2, "no, I like blues").message
    facts.learn(tx, [said("likes jazz", PREFERENCE)], source(1, message=first), NOON)
    facts.learn(tx, [said("likes blues", PREFERENCE, corrects=True)], source(2, message=then), NOON)
    assert texts(tx) == ["likes blues", "likes jazz"]


@pytest.mark.parametrize(
    ("first", "between", "left"),
    [
        (HALL, (BOB, HALL), ["likes blues"]),
        (HALL, (ANN, YARD), ["likes blues"]),
        (HALL, (ANN, HALL), ["likes blues", "likes jazz"]),
        (YARD, (BOB, HALL), ["likes blues", "likes jazz"]),
    ],
)
def test_a_correction_is_of_what_the_same_person_said_last_in_the_same_place(
    tx: Tx, first: Place, between: tuple[PersonId, Place], left: list[str]
) -> None:
    for number, (text, person, place) in enumerate(
        [("I like jazz", ANN, first), ("is it raining?", *between), ("no, I like blues", ANN, HALL)]
    ):
        message = taken(tx, number, text, person=person, place=place).message
        facts.learn(tx, extraction.statements(text, own=True), source(message=message, person=person), NOON)
    assert texts(tx) == left


def test_what_a_correction_replaced_is_true_again_without_it_and_is_forgotten_with_it(tx: Tx) -> None:
    told(tx, "I like jazz", "no, I like blues", "no, I like rock")
    facts.remove(tx, [only(tx).id])
    assert texts(tx) == ["likes blues"]
    facts.forget(tx, only(tx).id)
    assert texts(tx) == []


def test_nobody_confirms_or_contradicts_what_somebody_else_said(tx: Tx) -> None:
    for number, person in enumerate((ANN, BOB, OWNERS)):
        facts.learn(tx, [said("prefers dark theme editor", PREFERENCE)], source(number, person=person), NOON)
    facts.learn(tx, [said("prefers light theme editor", PREFERENCE)], source(9, person=BOB), NOON)
    assert texts(tx) == ["prefers dark theme editor", "prefers dark theme editor", "prefers light theme editor"]
    assert {fact.reinforcements for fact in facts.listing(tx, Scope(GUILD))} == {1}


def test_nothing_passes_from_one_audience_to_another() -> None:
    tx, alone = store(), person_audience(ANN)
    other = Audience("guild:discord:2")
    for number, audience in enumerate((alone, GUILD, other, OWNER)):
        facts.learn(tx, [said("prefers dark theme editor", PREFERENCE)], source(number, audience=audience), NOON)
    facts.learn(tx, [said("prefers light theme editor", PREFERENCE)], source(9, audience=alone), NOON)
    assert [fact.reinforcements for fact in facts.listing(tx, Scope(GUILD))] == [1]
    assert texts(tx, Scope(GUILD)) == texts(tx, Scope(other)) == ["prefers dark theme editor"]
    assert texts(tx, Scope(alone)) == ["prefers light theme editor"]
    assert "prefers light theme editor" not in texts(tx, Scope(OWNER))
    assert texts(tx, Scope(Audience("public"))) == []


def test_a_fact_has_the_lowest_trust_of_its_sources(tx: Tx) -> None:
    facts.learn(tx, [said("the server starts slowly")], source(1, trust=Trust.OWNER), NOON)
    facts.learn(tx, [said("the server starts slowly")], source(2, trust=Trust.WEB, origin="tool"), NOON)
    assert only(tx).trust is Trust.WEB


# ---------------------------------------------------------------------------------------------- what all agents know


def repeated(tx: Tx, text: str, sessions: Iterable[int], **change: Any) -> None:
    for number in sessions:
        facts.learn(tx, [said(text)], source(number, **change), NOON + timedelta(minutes=number))


def test_what_was_said_in_three_sessions_is_known_to_all_agents(tx: Tx) -> None:
    repeated(tx, "the server starts slowly", [1, 2, 2, 2])
    assert facts.weightiest(tx, STAR, Scope(GUILD), (0, 9))[1] == []
    repeated(tx, "the server starts slowly", [3])
    (shared,) = facts.weightiest(tx, STAR, Scope(GUILD), (0, 9))[1]
    assert (shared.reinforcements, shared.confirmed_by) == (3, (STAR,))
    assert facts.weightiest(tx, STAR, Scope(GUILD), (9, 0))[0] == []  # it is not told twice
    assert facts.weightiest(tx, STAR, Scope(person_audience(ANN)), (0, 9))[1] == []


def test_another_agent_that_learns_the_same_confirms_it(tx: Tx) -> None:
    repeated(tx, "the server starts slowly", [1, 2, 3])
    repeated(tx, "the server starts slowly", [4, 5, 6, 7], agent=MOON)
    (shared,) = facts.weightiest(tx, STAR, Scope(GUILD), (0, 9))[1]
    assert shared.confirmed_by == (STAR, MOON)
    assert facts.confirm(tx, shared, MOON, NOON) is False
    assert facts.confirm(tx, shared, AgentId("agt_sun"), NOON) is True


def test_there_is_room_for_twenty_and_the_newest_comes_in(tx: Tx) -> None:
    for number in range(25):
        person = PersonId(f"discord:p{number % 5}")
        repeated(tx, f"the server{number} starts slowly{number}", [1, 2, 3], person=person)
    shared = [fact.text for fact in facts.weightiest(tx, STAR, Scope(GUILD), (0, 99))[1]]
    assert len(shared) == SHARED.all
    assert "the server24 starts slowly24" in shared
    assert "the server0 starts slowly0" not in shared
    assert len(texts(tx)) == 25  # who learned it knows it still


def test_what_no_longer_stands_in_three_sessions_is_not_shared(tx: Tx) -> None:
    rows = [taken(tx, number, "the server starts slowly") for number in range(3)]
    for number, row in enumerate(rows):
        facts.learn(tx, [said("the server starts slowly")], source(number, message=row.message), NOON)
    assert len(facts.weightiest(tx, STAR, Scope(GUILD), (0, 9))[1]) == 1
    messages.redact(tx, [rows[1].message or MessageId(0)], NOON)
    assert facts.weightiest(tx, STAR, Scope(GUILD), (0, 9))[1] == []
    assert only(tx).reinforcements == 2


# ---------------------------------------------------------------------------------------------------- whose goes


def held(number: int, person: str, trust: Trust = Trust.APPROVED, worth: int = 1, **more: Any) -> Fact:
    at, plain = NOON + timedelta(minutes=number), {"shared": False, "superseded": False}
    return Fact(
        id=FactId(number), agent=STAR, text="", person=PersonId(person), speaker="", reinforcements=worth,
        by_person=True, audience=GUILD, category=LESSON, confirmed_by=(), trust=trust, created_at=at, last_seen=at,
        **{**plain, **more},
    )  # fmt: skip


def test_the_least_reinforced_goes_and_of_those_the_oldest_but_never_the_newest() -> None:
    room = FactLimits(3, 3, 3)
    found = [held(1, "ann", worth=2), held(2, "ann"), held(3, "ann"), held(4, "ann")]
    assert facts.victims(found, FactId(4), room) == [2]
    reinforced = [held(1, "ann", worth=5), held(2, "ann", worth=2), held(3, "ann", worth=3), held(4, "ann")]
    assert facts.victims(reinforced, FactId(4), room) == [2]


def test_what_does_not_hold_any_more_goes_first_and_what_all_know_last() -> None:
    room = FactLimits(2, 2, 2)
    assert facts.victims([held(1, "a"), held(2, "a", worth=9, superseded=True), held(3, "a")], FactId(3), room) == [2]
    assert facts.victims([held(1, "a", shared=True), held(2, "a", worth=9), held(3, "a")], FactId(3), room) == [2]


def test_what_the_web_said_to_the_partner_is_not_the_partners_word(tx: Tx) -> None:
    repeated(tx, "partner lesson is kept", [1], person=OWNERS, trust=Trust.OWNER)
    for number in range(60):
        text = f"web{number} lesson{number} noise{number}"
        repeated(tx, text, [2], person=OWNERS, trust=Trust.WEB, origin="tool")
    assert "partner lesson is kept" in texts(tx)
    assert len(texts(tx)) == 1 + KNOWN.other


# ------------------------------------------------------------------------------------- what follows words taken back


def learned_from(tx: Tx, number: int, text: str, **change: Any) -> MessageId:
    row = taken(tx, number, text)
    assert row.message is not None
    facts.learn(tx, extraction.statements(text, own=True), source(number, message=row.message, **change), NOON)
    return row.message


def test_a_fact_goes_with_the_last_message_that_said_it_and_has_the_words_of_the_oldest_left(tx: Tx) -> None:
    first = learned_from(tx, 1, "I prefer solid borders over dashed borders")
    second = learned_from(tx, 2, "I prefer solid borders instead of dashed borders")
    assert only(tx).text == "prefers solid borders over dashed borders"
    messages.redact(tx, [first], NOON)
    assert (only(tx).text, only(tx).reinforcements) == ("prefers solid borders instead of dashed borders", 1)
    assert tx.all("SELECT 1 FROM facts_fts WHERE facts_fts MATCH 'over'") == []
    assert len(tx.all("SELECT 1 FROM facts_fts WHERE facts_fts MATCH 'instead'")) == 1
    messages.narrow(tx, [second], person_audience(ANN))
    assert texts(tx) == []
    assert tx.all("SELECT 1 FROM facts_fts WHERE facts_fts MATCH 'instead'") == []


def test_when_the_newer_word_is_taken_back_the_older_holds_again(tx: Tx) -> None:
    learned_from(tx, 1, "I prefer a dark theme")
    newer = learned_from(tx, 2, "I prefer a light theme")
    assert texts(tx) == ["prefers a light theme"]
    messages.redact(tx, [newer], NOON)
    assert texts(tx) == ["prefers a dark theme"]


def test_what_is_forgotten_goes_with_all_that_it_had_replaced(tx: Tx) -> None:
    for number, theme in enumerate(["dark", "light", "dark"], 1):
        learned_from(tx, number, f"I prefer a {theme} theme")
    assert facts.forget(tx, only(tx).id) == 3
    assert tx.all("SELECT 1 FROM facts") == tx.all("SELECT 1 FROM fact_sources") == []


def test_the_same_message_teaches_once(tx: Tx) -> None:
    message = learned_from(tx, 1, "I prefer a dark theme")
    facts.learn(tx, extraction.statements("I prefer a dark theme", own=True), source(2, message=message), NOON)
    assert only(tx).reinforcements == 1


def test_a_stranger_who_talks_much_leaves_the_partners_facts_alone() -> None:
    tx = store()
    partner = {"person": OWNERS, "trust": Trust.OWNER}
    for number in range(60):
        repeated(tx, f"partner{number} lesson{number} kept{number}", [1], **partner)
        assert f"partner{number} lesson{number} kept{number}" in texts(tx)
    mine = [text for text in texts(tx) if text.startswith("partner")]
    assert len(mine) == KNOWN.partner
    for number in range(30):
        for stranger in "xyz":
            text = f"{stranger}{number} lesson{number} noise{number}"
            repeated(tx, text, [2], person=PersonId(stranger), trust=Trust.STRANGER)
            assert text in texts(tx)
    assert [text for text in texts(tx) if text.startswith("partner")] == mine
    assert len(texts(tx)) == KNOWN.all
