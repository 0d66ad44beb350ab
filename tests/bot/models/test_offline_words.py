"""How the offline model words things: reasons, places, possession, and how often it says what it is."""

import pytest

from bot.models.base import Trouble, Unanswered
from bot.models.offline.text import LANGUAGES
from tests.bot.models.offline_talk import Memory, Talk

MODEL = "openai:gpt-5-mini"


def failing(trouble: Trouble) -> Talk:
    return Talk(failed=(Unanswered(MODEL, trouble), Unanswered("anthropic:spare", Trouble.UNREACHABLE)))


# ------------------------------------------------------------------------------------------- why no model answers


@pytest.mark.parametrize(
    ("trouble", "question", "words"),
    [
        (Trouble.KEY, "who am I?", "My key for the language model `openai:gpt-5-mini` is refused"),
        (Trouble.KEY, "wer bin ich?", "Mein Schlüssel für das Sprachmodell `openai:gpt-5-mini` wird abgelehnt"),
        (Trouble.KEY, "私の名前は？", "言語モデル `openai:gpt-5-mini` のキーが拒否された"),
        (Trouble.MISSING, "who am I?", "`openai:gpt-5-mini` is not known to its provider"),
        (Trouble.MISSING, "wer bin ich?", "`openai:gpt-5-mini` ist bei seinem Anbieter unbekannt"),
        (Trouble.MISSING, "私の名前は？", "`openai:gpt-5-mini` は提供元に見つからない"),
        (Trouble.QUOTA, "who am I?", "is used up"),
        (Trouble.QUOTA, "wer bin ich?", "ist aufgebraucht"),
        (Trouble.QUOTA, "私の名前は？", "利用枠を使い切った"),
        (Trouble.BUDGET, "who am I?", "What may be spent on a language model is spent"),
        (Trouble.BUDGET, "wer bin ich?", "ist vorerst verbraucht"),
        (Trouble.BUDGET, "私の名前は？", "予算を今は使い切った"),
        (Trouble.UNREACHABLE, "who am I?", "`openai:gpt-5-mini` can't be reached at the moment"),
        (Trouble.UNREACHABLE, "wer bin ich?", "`openai:gpt-5-mini` ist gerade nicht erreichbar"),
        (Trouble.UNREACHABLE, "私の名前は？", "`openai:gpt-5-mini` に今つながらない"),
        (Trouble.FAILING, "who am I?", "gives no usable answer at the moment"),
        (Trouble.FAILING, "wer bin ich?", "gibt gerade keine brauchbare Antwort"),
        (Trouble.FAILING, "私の名前は？", "使える答えが来ない"),
    ],
)
def test_the_reason_is_the_true_one_in_every_language(trouble: Trouble, question: str, words: str) -> None:
    said = failing(trouble).say(question)
    assert words in said
    assert "spare" not in said, "the model that was asked first is the one to speak of"
    assert all(language.phrases.no_model[:25] not in said for language in LANGUAGES)


@pytest.mark.parametrize(
    ("trouble", "setting"), [(Trouble.KEY, "`OPENAI_API_KEY`"), (Trouble.MISSING, "`CARINA_MODEL`")]
)
def test_the_setting_that_mends_it_is_named(trouble: Trouble, setting: str) -> None:
    for text in ("hi", "hallo", "こんにちは"):
        assert setting in failing(trouble).say(text)


def test_a_model_that_should_have_answered_is_spoken_of_with_any_answer_once() -> None:
    talk = failing(Trouble.KEY)
    assert "is refused" in talk.say("remember that my dentist is on Elm Street")
    assert "is refused" not in talk.say("where is my dentist?")


def test_a_budget_that_is_spent_is_told_by_its_own_notice_and_not_with_any_answer() -> None:
    talk = Talk(failed=(Unanswered("", Trouble.BUDGET),))
    assert "spent" not in talk.say("hello")
    assert "CARINA_MODEL" not in talk.say("who am I?")


def test_another_reason_on_the_same_day_is_told_as_well() -> None:
    talk = failing(Trouble.KEY)
    talk.say("hi")
    talk.failed = (Unanswered(MODEL, Trouble.UNREACHABLE),)
    assert "can't be reached" in talk.say("who am I?")


# -------------------------------------------------------------------------------------------- once a day and person


def test_the_hint_comes_once_a_day_to_each_person() -> None:
    talk = Talk()
    told = [
        (speaker, "CARINA_MODEL" in talk.say(text, speaker=speaker))
        for speaker, text in [("Ana", "hi"), ("Ben", "hi"), ("Ana", "thanks"), ("Ben", "the sky is blue")]
    ]
    assert told == [("Ana", True), ("Ben", True), ("Ana", False), ("Ben", False)]
    talk.later(days=1)
    assert "CARINA_MODEL" in talk.say("hi", speaker="Ben")
    assert "CARINA_MODEL" in talk.say("hi", speaker="Ana")
    assert "CARINA_MODEL" not in talk.say("hallo", speaker="Ana"), "in another language it is the same hint"


@pytest.mark.parametrize(
    ("greeting", "question", "unknown", "reason"),
    [
        ("hi", "where is my dentist?", "I don't know that.", "No language model is configured"),
        ("hallo", "wo ist mein Zahnarzt?", "Das weiß ich nicht.", "Es ist kein Sprachmodell eingerichtet"),
        ("こんにちは", "歯医者はどこ？", "分かりません。", "言語モデルが設定されていない"),
        ("hi", "tell me a joke", "I can't do that", "No language model is configured"),
    ],
)
def test_what_is_not_known_says_every_time_that_no_model_is_configured(
    greeting: str, question: str, unknown: str, reason: str
) -> None:
    talk = Talk()
    talk.say(greeting)
    for _ in range(3):
        said = talk.say(question)
        assert said.startswith(unknown)
        assert reason in said
        assert "`CARINA_MODEL`" in said


def test_what_is_not_known_says_every_time_what_is_wrong_with_the_model() -> None:
    talk = failing(Trouble.KEY)
    talk.say("hi")
    assert "is refused" not in talk.say("thanks")
    assert "`OPENAI_API_KEY`" in talk.say("where is my dentist?")
    assert "`OPENAI_API_KEY`" in talk.say("where is my dentist?")


# -------------------------------------------------------------------------------------------------- being called


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("@Carina", "I'm here. What can I do for you?"),
        ("<@123>", "I'm here. What can I do for you?"),
        ("<@123> ?", "I'm here. What can I do for you?"),
        ("Carina?", "I'm here. What can I do for you?"),
        ("", "I'm here. What can I do for you?"),
        ("カリーナ", "はい、何でしょうか。"),
    ],
)
def test_who_only_calls_is_asked_what_they_want(text: str, answer: str) -> None:
    talk = Talk()
    said = talk.say(text)
    assert said.startswith(answer)
    assert talk.stored == []


def test_who_calls_in_a_german_talk_is_asked_in_german() -> None:
    talk = Talk()
    talk.say("Ich wohne in Lissabon")
    assert talk.say("@Carina").startswith("Ich bin da. Was kann ich für dich tun?")


def test_a_name_before_a_request_is_no_call() -> None:
    talk = Talk()
    talk.say("@Carina remember that my dentist is on Elm Street")
    assert talk.stored == ["my dentist is on Elm Street"]
    assert talk.say("hey Carina").startswith("Hello!")


# ------------------------------------------------------------------------------------------------------- places


@pytest.mark.parametrize(
    ("kind", "name", "told", "asked", "where"),
    [
        ("terminal", "the terminal", "my name is Ana", "who am I?", "in the terminal)"),
        ("terminal", "the terminal", "mein Name ist Ana", "wie heiße ich?", ", am Terminal)"),
        ("terminal", "the terminal", "私の名前はアナです", "私の名前は？", "、ターミナルで）"),
        ("direct", "direct messages with Ana", "my name is Ana", "who am I?", "in direct messages with Ana)"),
        ("direct", "direct messages with Ana", "mein Name ist Ana", "wie heiße ich?", ", in Direktnachrichten)"),
        ("direct", "direct messages with Ana", "私の名前はアナです", "私の名前は？", "、ダイレクトメッセージで）"),
        ("guild", "the terminal", "mein Name ist Ana", "wie heiße ich?", ", in the terminal)"),
    ],
)
def test_a_place_without_a_name_of_its_own_is_named_in_the_language_of_the_answer(
    kind: str, name: str, told: str, asked: str, where: str
) -> None:
    talk = Talk(Memory(place=name, place_kind=kind))
    talk.say(told)
    assert where in talk.say(asked)


# --------------------------------------------------------------------------------------------------- possession


@pytest.mark.parametrize(
    ("told", "asked", "answer"),
    [
        ("my sister's name is Mia", "what's my sister's name?", "You told me your sister's name is Mia ("),
        ("remember that my boss' car is red", "what colour is my boss' car?", "You told me your boss' car is red ("),
        ("remember James' dentist is on Oak Street", "where is James's dentist?", "James' dentist is on Oak Street ("),
        ("meine Schwester heißt Mia", "wie heißt meine Schwester?", "deine Schwester heißt Mia ("),
        ("merk dir, dass Hans' Zahnarzt in Rom ist", "wo ist Hans' Zahnarzt?", ": Hans' Zahnarzt ist in Rom ("),
        ("merk dir, dass Annas Zahnarzt in Rom ist", "wo ist Annas Zahnarzt?", ": dass Annas Zahnarzt in Rom ist ("),
    ],
)
def test_what_belongs_to_somebody_is_answered_back_as_theirs(told: str, asked: str, answer: str) -> None:
    talk = Talk()
    talk.say(told)
    assert answer in talk.say(asked)


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("remember that James' dentist is on Oak Street", "where is my dentist?"),
        ("remember that Chris’ birthday is on 4 June", "when is my birthday?"),
        ("remember that my boss' car is red", "what colour is my car?"),
        ("remember that my parents' house is on Elm Street", "where is my house?"),
        ("merk dir, dass Hans' Zahnarzt in Rom ist", "wo ist mein Zahnarzt?"),
        ("merk dir, dass Annas Zahnarzt in Rom ist", "wo ist mein Zahnarzt?"),
    ],
)
def test_what_belongs_to_a_name_that_ends_in_s_is_not_taken_for_ones_own(told: str, asked: str) -> None:
    talk = Talk()
    talk.say(told)
    assert "14:03" not in talk.say(asked)


@pytest.mark.parametrize(
    ("told", "asked", "answer"),
    [
        ("merk dir, dass das Auto in der Garage steht", "wo steht das Auto?", "das Auto steht in der Garage"),
        ("merk dir: Montags Yoga um 18 Uhr", "wann ist Yoga?", "Montags Yoga um 18 Uhr"),
        ("merk dir, dass Hans in Rom wohnt", "wo wohnt Hans?", "Hans wohnt in Rom"),
    ],
)
def test_a_german_word_that_ends_in_s_is_not_always_an_owner(told: str, asked: str, answer: str) -> None:
    talk = Talk()
    talk.say(told)
    assert answer in talk.say(asked)
