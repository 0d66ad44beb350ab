"""Careless typing, what is not stored, what is forgotten, and lists that are not whole: nothing is pretended."""

import pytest

from bot.models.base import Answer, Request, UserMessage
from bot.models.offline import OfflineModel
from bot.models.offline.content import queries
from bot.models.offline.fitting import close
from bot.models.offline.language import Language
from bot.models.offline.text import LANGUAGES
from memory import fulltext
from tests.bot.models.offline_talk import NEAREST, UNKNOWN, Talk, asked
from tests.bot.parts import NOON

# ------------------------------------------------------------------------------------------------ slips of typing


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("im allergic to nuts", "whats my allergy"),
        ("my wifi password is hunter2", "waht is my wifi password"),
        ("ive got a dog", "do i have a dog"),
        ("my wifi password is hunter2", "WHAT IS MY WIFI PASSWORD"),
    ],
)
def test_what_is_typed_carelessly_is_understood(told: str, question: str) -> None:
    said = asked(told, question)
    assert said.startswith("You told me you")
    assert "CARINA_MODEL" not in said


def test_a_misspelt_word_finds_the_nearest_only() -> None:
    said = asked("my wifi password is hunter2", "what is my wifi pasword?")
    assert said.startswith(NEAREST)
    assert "your wifi password is hunter2" in said
    assert asked("my horse is in the stable", "where is my purse?").startswith(UNKNOWN)


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("pasword", "password", True),
        ("passwrod", "password", True),
        ("passwird", "password", True),
        ("password", "password", True),
        ("pswrd", "password", False),
        ("cat", "cart", False),
        ("item3", "item4", False),
        ("", "a", False),
    ],
)
def test_one_slip_is_near(one: str, other: str, near: bool) -> None:
    assert close(one, other) == close(other, one) == near


# -------------------------------------------------------------------------------------------- nothing is pretended


@pytest.mark.parametrize(
    "text",
    [
        "can you remember my birthday?",
        "don't forget my birthday",
        "remember where my keys are",
        "I wonder where my keys are",
        "I don't know where my keys are",
        "I forgot what my password is",
        "merk dir meinen Geburtstag",
        "kannst du dir meinen Geburtstag merken?",
        "ich weiß nicht, wo mein Schlüssel ist",
        "誕生日を覚えて",
        "in which city do I live",
        "I think my keys are in the car",
        "maybe my keys are in the car",
        "my phone is dead",
        "mein Handy ist kaputt",
        "what's my dog called and where do I live",
    ],
)
def test_what_states_nothing_for_certain_is_not_stored(text: str) -> None:
    talk = Talk()
    said = talk.say(text)
    assert talk.stored == []
    assert not said.startswith(("I'll remember", "Ich merke mir"))


def test_an_order_behind_a_greeting_is_obeyed() -> None:
    talk = Talk()
    talk.say("hey Carina, could you please remember that my locker is number 12?")
    assert talk.stored == ["my locker is number 12"]


def test_forgetting_by_the_name_of_somebody_finds_what_names_them() -> None:
    talk = Talk()
    talk.say("my sister's name is Mia")
    assert talk.say("forget Mia").startswith("Forgotten")
    assert talk.stored == []
    assert talk.say("forget").startswith("What should I forget?")


@pytest.mark.parametrize(
    ("told", "order", "question", "stored", "left"),
    [
        (
            "Tom lives in Graz",
            "forget Tom",
            "where does Tom live?",
            "I had stored nothing about “Tom”.",
            "1 message(s)",
        ),
        (
            "der Schlüssel liegt unter der Matte",
            "vergiss den Schlüssel",
            "wo ist der Schlüssel?",
            "Zu „den Schlüssel“ hatte ich nichts gespeichert.",
            "1 Nachricht(en)",
        ),
        ("会議は金曜日の3時です", "会議を忘れて", "会議はいつ？", "「会議」について保存したものは", "1件"),
    ],
)
def test_what_was_only_said_is_not_told_after_it_was_to_be_forgotten(
    told: str, order: str, question: str, stored: str, left: str
) -> None:
    talk = Talk()
    talk.say(told)
    assert told in talk.say(question)
    first, second = talk.say(order).split("\n")
    assert first.startswith(stored)
    assert left in second
    assert talk.say(question).startswith(UNKNOWN)
    talk.later(minutes=1)
    talk.say(told)
    assert told in talk.say(question), "said anew it counts again"


def test_forgetting_an_entry_covers_what_was_said_before_it_was_stored() -> None:
    talk = Talk()
    talk.say("the key is under the mat")
    talk.say("remember that the key is under the old mat")
    assert "1 message(s) of yours" in talk.say("forget the key")
    assert talk.stored == []
    assert talk.say("where is the key?").startswith(UNKNOWN)


def test_somebody_else_cannot_make_what_one_said_forgotten() -> None:
    talk = Talk()
    talk.say("Tom lives in Graz")
    talk.say("forget Tom", speaker="Ben")
    assert "Tom lives in Graz" in talk.say("where does Tom live?")


def test_a_long_list_says_what_it_leaves_out() -> None:
    talk = Talk()
    for number in range(55):
        talk.say(f"remember that box {number} has books")
        talk.later(minutes=1)
    lines = talk.say("what do you know about me?").splitlines()
    assert lines[1].startswith("- box 54 has books")
    assert len([line for line in lines if line.startswith("- ")]) == 30
    assert lines[-2:] == [
        "(20 more of yours are not shown here; ask me about them.)",
        "(5 older entries, of you or others, were not looked through.)",
    ]


@pytest.mark.parametrize("language", LANGUAGES, ids=[language.code for language in LANGUAGES])
def test_a_query_holds_no_more_words_than_search_looks_at(language: Language) -> None:
    wanted = queries(("a1", "b2"), language.concepts, language)
    assert len(wanted) == 8
    joined = " ".join(wanted)
    assert all(fulltext.terms(query + " zzz9", mode="any")[-1].word == "zzz9" for query in wanted)
    assert joined.startswith("a1 b2 ")


# ------------------------------------------------------------------------------------------------ what nobody said


@pytest.mark.parametrize(("event", "answer"), [("sleeptime", ""), ("task", ""), ("denied", "not allowed"), ("", "")])
async def test_only_a_decision_is_answered_as_one(event: str, answer: str) -> None:
    request = Request("", (UserMessage("[system] Something happened.", event=event),))
    said = [each async for each in OfflineModel(lambda: NOON).complete(request) if isinstance(each, Answer)][-1].text
    assert answer in said
    assert bool(said) is bool(answer)
