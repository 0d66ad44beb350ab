"""What the offline model makes of what people say, as tables: `offline/<language>.toml` says what is in each."""

import re
import tomllib
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest

from bot.models.offline import intents
from bot.models.offline.intents import Intent, Parser
from bot.models.offline.language import detect, language
from memory.store import fulltext
from sources.names import uncalled
from tests.bot.models.offline_talk import NEAREST, UNKNOWN, Talk, asked

NOW = datetime(2026, 3, 2, 13, tzinfo=UTC)
CLOCK = "14:03|2:03 PM"
UNREAD = "I can't look at pictures or files without a language model."
CODES = {"english": "en", "german": "de", "japanese": "ja"}
_TABLES = {
    code: tomllib.loads((Path(__file__).parent / "offline" / f"{name}.toml").read_text("utf-8"))
    for name, code in CODES.items()
}


def rows(name: str) -> pytest.MarkDecorator:
    """The rows of a table in every language, each with its language."""
    found = [(code, row) for code, table in _TABLES.items() for row in table.get(name, ())]
    return pytest.mark.parametrize(("code", "row"), found, ids=[f"{code}-{row}"[:60] for code, row in found])


def shown(intent: Intent) -> str:
    values = (intent.name, intent.text, intent.when, intent.other, intent.instead, intent.number or "")
    return f"{intent.act}: {' | '.join(str(value) for value in values if value)}".rstrip(": ")


# --------------------------------------------------------------------------------------------- what is told and asked


@rows("found")
def test_what_was_told_is_found_with_when_and_where(code: str, row: list[str]) -> None:
    told, question, answer = row
    said = asked(told, question)
    assert answer in said
    assert not said.startswith((*NEAREST, *UNKNOWN))
    assert re.search(f"(?:{CLOCK}) UTC", said)
    assert "#general" in said
    assert "CARINA_MODEL" not in said


def test_a_letter_that_only_looks_like_a_word_of_the_language_stays() -> None:
    assert language("en").rewrite("turn", "İ saw my ſister") == "İ saw your ſister"


def test_a_fact_that_was_added_is_found_until_it_is_taken_back() -> None:
    talk = Talk()
    talk.memory.learned("My brother is called Tom", "Ana")
    assert talk.say("what is my brother called?").startswith("You told me your brother is called Tom (on ")
    talk.say("forget my brother")
    assert talk.say("what is my brother called?").startswith(UNKNOWN)


@rows("unknown")
def test_what_is_not_known_is_never_answered_with_something_else(code: str, row: list[str]) -> None:
    told, question = row
    said = asked(("where is my passport?", told), question)
    assert said.startswith(UNKNOWN)
    assert not re.search(CLOCK, said)


def test_a_question_about_a_file_is_not_looked_for_in_memory() -> None:
    said = Talk(files=True).say("what is in the attached report?")
    assert said.startswith("I can't look at pictures or files without a language model.")
    assert "CARINA_MODEL" in said
    assert said.count("pictures") == 1


@pytest.mark.parametrize("words", ["my cat is called Tom", "look at this", "", "hello"])
def test_a_file_is_never_passed_over_in_silence(words: str) -> None:
    assert Talk(files=True).say(words).splitlines().count(UNREAD) == 1
    assert UNREAD not in Talk().say(words or "hello")


@pytest.mark.parametrize(
    "asked_why", ["why?", "Why was that?", "how come?", "warum?", "Wieso denn?", "なぜですか？", "どうして？"]
)
def test_why_alone_names_the_command_that_tells(asked_why: str) -> None:
    assert "`/why`" in asked(("my sister is called Petra",), asked_why)


def test_quotes_around_what_is_meant_are_not_quoted_again() -> None:
    talk = Talk()
    assert talk.say('forget "motto"').startswith("I have no note about “motto”.")
    assert talk.say('remember "the code is 4"').startswith("I'll remember: the code is 4.")
    assert "“always try”" in talk.say("remember that my motto is “always try”")


@rows("nearest")
def test_an_answer_of_another_sort_is_the_nearest_at_most(code: str, row: list[str]) -> None:
    assert asked(*row).startswith(NEAREST)


@rows("changed")
def test_a_change_counts_and_what_was_before_is_named(code: str, row: list[str]) -> None:
    before, after, question, now = row
    first, *rest = asked((before, after), question).split("\n")
    assert now in first
    assert len(rest) == 1
    assert rest[0].startswith(("Before that, you told me", "Davor hast du mir gesagt:", "その前は"))


@rows("answers")
def test_a_first_message_is_answered(code: str, row: list[str]) -> None:
    text, answer = row
    assert answer in Talk(agent="Anchor").say(text)


@rows("unstored")
def test_what_states_nothing_for_certain_is_not_kept(code: str, row: str) -> None:
    talk = Talk()
    assert not talk.say(row).startswith(("I'll remember", "Ich merke mir"))
    assert talk.stored == []


# ------------------------------------------------------------------------------------------------ what is understood


@rows("acts")
def test_what_somebody_wants_is_understood(code: str, row: list[str]) -> None:
    text, *meant = row
    assert [shown(each) for each in Parser(detect(text), NOW).parse(text)] == meant


@rows("follows")
def test_what_is_missing_is_filled_in_and_corrected_by_what_is_said_next(code: str, row: list[str]) -> None:
    *before, text, meant = row
    assert [shown(each) for each in Parser(detect(text, code), NOW).parse(text, before)] == [meant]


@pytest.mark.parametrize("code", CODES.values())
def test_a_corrected_day_or_time_replaces_the_only_one_of_a_fact_and_nothing_else(code: str) -> None:
    table = tomllib.loads((Path(__file__).parent / "offline" / "corrections.toml").read_text("utf-8"))[code]
    noted = {"en": "remember that {}", "de": "merk dir: {}", "ja": "{}と覚えて"}[code]
    kept = list(table["alone"]) + [(fact, said, "") for fact, said in table["unclear"]]
    for fact, day, clock in product(table["facts"], table["days"], table["clocks"]):
        at = re.sub(r"(?<= ).*", "", clock) if " " in clock else ""
        told = fact.format(day=day, clock=clock)
        kept += [(told, said, fact.format(day=new, clock=clock)) for said, new in table["new_days"]]
        kept += [(told, said, fact.format(day=day, clock=f"{at}{new}")) for said, new in table["new_clocks"]]
        kept += [(told, said, fact.format(day=new, clock=f"{at}{hour}")) for said, new, hour in table["both"]]
    for told, said, then in kept:
        (intent,) = Parser(language(code), NOW).parse(said, [noted.format(told)])
        assert (intent.act, intent.text) in (("remember", then), ("say", then), ("talk", then)), (told, said)
        assert then or intent.name in ("unchanged", "ack")


@rows("facts")
def test_what_is_one_fact_is_kept_as_one(code: str, row: list[str]) -> None:
    text, *facts = row
    found = Parser(detect(text), NOW).parse(text)
    assert [each.text for each in found if each.act in ("remember", "note")] == facts
    assert Intent("say", name="remember_what") not in found


@rows("detect")
def test_a_short_sentence_tells_its_language(code: str, row: str) -> None:
    assert detect(row).code == code


@rows("order")
def test_a_subject_behind_its_verb_is_put_first_for_looking(code: str, row: list[str]) -> None:
    assert language(code).rewrite("order", row[0]) == row[1]


@rows("noted")
def test_a_clause_becomes_a_sentence_where_its_verb_is_known(code: str, row: list[str]) -> None:
    assert language(code).rewrite("noted", row[0]) == row[1]


@rows("turn")
def test_every_verb_of_the_speaker_is_turned(code: str, row: list[str]) -> None:
    assert language(code).shown(row[0]) == row[1]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Anchor: hi", "hi"),
        ("hey anchor, what do I like?", "what do I like?"),
        ("Anchor:", "Anchor:"),
        ("the Anchor: it holds", "the Anchor: it holds"),
        ("where is my dog, @Anchor ?", "where is my dog?"),
        ("私の犬はポチです @Anchor", "私の犬はポチです"),
        ("who is @Anchor?", "who is @Anchor?"),
        ("my boat has no Anchor", "my boat has no Anchor"),
    ],
)
def test_whoever_is_called_by_name_hears_what_stands_beside_it(said: str, words: str) -> None:
    assert uncalled(said, "Anchor") == words
    assert uncalled(said, "") == said


@pytest.mark.parametrize("code", CODES.values())
def test_a_query_holds_no_more_words_than_search_looks_at(code: str) -> None:
    wanted = language(code).queries(("a1", "b2"), language(code).stated)
    assert len(wanted) == 8
    assert all(fulltext.terms(query + " zzz9", mode="any")[-1].word == "zzz9" for query in wanted)
    assert " ".join(wanted).startswith("a1 b2 ")


@pytest.mark.parametrize("code", CODES.values())
def test_every_pattern_of_a_language_compiles_and_every_language_says_the_same_things(code: str) -> None:
    spoken = language(code)
    for section in ("begin", "search", "rewrites", "kinds_asked", "kinds_stated"):
        for name in spoken.data[section]:
            assert spoken.patterns(section, name)
    assert spoken.data["kinds_asked"].keys() == spoken.data["kinds_stated"].keys() == spoken.data["kinds_words"].keys()
    assert spoken.data["say"].keys() == language("en").data["say"].keys()


def test_the_rules_are_data_and_their_code_stays_short() -> None:
    modules = Path(intents.__file__).parent.glob("*.py")
    assert sum(len(module.read_text("utf-8").splitlines()) for module in modules) <= 1_500
